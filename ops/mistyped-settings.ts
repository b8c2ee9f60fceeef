/**
 * Names in the environment that are nearly a setting's. A setting that is absent has a meaning (an
 * embedded backend, a default), so a slip in a name would start something else without a word.
 */
import { secretSettings, settingNames } from "../config.js";

/** Letters that may be wrong, missing or too many. */
const slipsMax = 2;
/** Of a shorter name two letters are too large a part. */
const lengthMin = 7;

const known = [...settingNames, ...secretSettings.map((name) => `${name}_FILE`)];

/** A sentence for each, for the person who set it. */
export function mistypedSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    // An empty value counts as absent, under any name.
    if (!value || name.length < lengthMin || known.includes(name)) return [];
    const meant = known.find((one) => isNear(name.toUpperCase(), one) && !env[one]);
    if (meant === undefined) return [];
    return [`${name} is not a setting and has no effect; did you mean ${meant}?`];
  });
}

/** By length first: all names of an environment are compared with all settings at each start. */
function isNear(one: string, other: string): boolean {
  return Math.abs(one.length - other.length) <= slipsMax && slips(one, other) <= slipsMax;
}

/**
 * How many letters must be inserted, removed or replaced to turn one into the other (the edit
 * distance). Stops counting above `slipsMax`.
 */
function slips(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(one).entries()) {
    const next = [index + 1];
    for (const [column, wanted] of Array.from(other).entries()) {
      const replaced = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
    if (Math.min(...row) > slipsMax) return slipsMax + 1;
  }
  return row.at(-1) ?? 0;
}
