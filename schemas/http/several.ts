/**
 * Filters that take several values. `DE,FR` is any of these, `-DE,-FR` any but these: the same `-`
 * that turns an order around. Both at once would say nothing more, and is refused.
 */
import { z } from "zod";

/** Any of the values; where `isNot`, any other. */
export interface Several {
  readonly isNot: boolean;
  readonly values: readonly string[];
}

/** As many as there may be country codes. */
const valuesMax = 676;

export const severalNote =
  "One or several, with commas; with `-` before each, all but these: `-A,-B`.";

/** @param value pattern of one, which begins with no `-` and has no comma */
export function several(value: string, problem: string) {
  const list = (one: string) => `${one}(?:,${one}){0,${valuesMax - 1}}`;
  return z
    .string()
    .regex(new RegExp(`^(?:${list(`(?:${value})`)}|${list(`-(?:${value})`)})$`), problem)
    .transform((text): Several => {
      const isNot = text.startsWith("-");
      const values = text.split(",").map((one) => (isNot ? one.slice(1) : one));
      return { isNot, values: [...new Set(values)].sort() };
    });
}

/** Of a closed set: those that are wanted, also where it is said which are not. */
export function severalOf<const Value extends string>(all: readonly Value[]) {
  const problem = `must be one or several of: ${all.join(", ")}; all with - or none`;
  return several(all.join("|"), problem).transform(({ isNot, values }): readonly Value[] =>
    all.filter((value) => values.includes(value) !== isNot),
  );
}
