/** Changes one part of a JSON value, wherever it is. */
export type Path = readonly (string | number)[];

export function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, inside] of Object.entries(value)) {
    yield* pathsIn(inside, [...path, isList ? Number(key) : key]);
  }
}

export function replaced(
  value: unknown,
  [key, ...rest]: Path,
  by: (old: unknown) => unknown,
): unknown {
  if (key === undefined) return by(value);
  if (Array.isArray(value)) return value.with(Number(key), replaced(value[Number(key)], rest, by));
  const fields: Readonly<Record<string, unknown>> = Object(value);
  return { ...fields, [key]: replaced(fields[key], rest, by) };
}
