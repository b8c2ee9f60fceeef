/** What the model and the service say, compared as lines of text. */
import { AssertionError } from "chai";

/** The same values in any order; names those that only one side has. */
export function expectLines(
  what: string,
  reported: readonly unknown[],
  expected: readonly unknown[],
): void {
  const left = expected.map(comparable);
  const extra = reported.map(comparable).filter((line) => {
    const found = left.indexOf(line);
    if (found >= 0) left.splice(found, 1);
    return found < 0;
  });
  if (extra.length + left.length === 0) return;
  const lines = [
    ...extra.map((line) => `  the service: ${line}`),
    ...left.map((line) => `  the model:   ${line}`),
  ];
  throw new AssertionError(`${what}\n${lines.join("\n")}`);
}

/** Its fields in the order of their names, also of those within. */
export function comparable(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
