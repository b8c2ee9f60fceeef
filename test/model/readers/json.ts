/** Reading unknown JSON by path, for the model's own minimal reading of events. */

/** What lies at the path; undefined when the way there is missing or null. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = Object.entries(here).find(([name]) => name === String(step))?.[1];
  }
  return here ?? undefined;
}

export function text(value: unknown, ...path: (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === "string" ? found : null;
}

export function number(value: unknown, ...path: (string | number)[]): number | null {
  const found = at(value, ...path);
  return typeof found === "number" ? found : null;
}

export function list(value: unknown, ...path: (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** A time that is written as text, in ms since 1970. */
export function timeIn(value: unknown, ...path: string[]): number {
  return Date.parse(must(text(value, ...path), path.join(".")));
}

/** An id, or the id of an expanded object. */
export function idOf(value: unknown, ...path: (string | number)[]): string | null {
  return text(value, ...path) ?? text(value, ...path, "id");
}

/** @throws when the event lacks what the model cannot do without: the generator's mistake. */
export function must<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`the model needs ${what}`);
  return value;
}
