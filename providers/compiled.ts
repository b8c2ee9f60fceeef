/** Shapes that every event passes. */
import { z } from "zod";

export interface Compiled<Shape extends z.ZodType> {
  readonly _zod: Shape["_zod"];
  parse(value: unknown): z.output<Shape>;
  safeParse(value: unknown): z.ZodSafeParseResult<z.output<Shape>>;
}

/**
 * Compiled when it first reads something: no process reads all that providers report, and most
 * commands read nothing of it.
 */
export function compiled<Shape extends z.ZodType>(shape: Shape): Compiled<Shape> {
  let made: Shape | undefined;
  const make = (): Shape => (made ??= z.compile(shape));
  return {
    _zod: shape._zod,
    parse: (value) => make().parse(value),
    safeParse: (value) => make().safeParse(value),
  };
}

/** The same of a body that several functions read, one after the other: it is read once. */
export function readOnce<Shape extends z.ZodType>(
  shape: Shape,
): Pick<Compiled<Shape>, "safeParse"> {
  const reading = compiled(shape);
  const known = new WeakMap<object, ReturnType<typeof reading.safeParse>>();
  return {
    safeParse(value) {
      if (typeof value !== "object" || value === null) return reading.safeParse(value);
      const read = known.get(value) ?? reading.safeParse(value);
      known.set(value, read);
      return read;
    },
  };
}
