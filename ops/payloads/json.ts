/** Helpers of all payload makers: most of their objects start from a provider's fixture. */
import { readFileSync } from "node:fs";
import { projectFile } from "../../runtime/project-root.js";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** As a maker writes it: amounts are `bigint`, and what is undefined is not sent. */
type Part = Json | bigint | undefined | Part[] | Parts;
interface Parts {
  readonly [name: string]: Part;
}

/** @param path of an object in `providers/<provider>/fixtures/<name>.json` */
export function fixture(
  provider: string,
  name: string,
  ...path: readonly (string | number)[]
): object {
  const file = projectFile("providers", provider, "fixtures", `${name}.json`);
  let found: unknown = JSON.parse(readFileSync(file, "utf8"));
  for (const step of path) found = Object(found)[step];
  if (typeof found === "object" && found !== null) return found;
  throw new Error(`${file} has no ${path.join(".")}`);
}

/** An object of a fixture with other values. */
export function from(made: object, values: Parts): JsonObject {
  return sent({ ...made, ...values });
}

export function sent(values: Parts): JsonObject {
  const given = Object.entries(values).filter(([, part]) => part !== undefined);
  return Object.fromEntries(given.map(([name, part]) => [name, jsonOf(part)]));
}

function jsonOf(part: Part): Json {
  if (typeof part === "bigint") return units(part);
  if (Array.isArray(part)) return part.map(jsonOf);
  return typeof part === "object" && part !== null ? sent(part) : (part ?? null);
}

/** A JSON number of an amount; our own mistake when it does not hold it. */
function units(amount: bigint): number {
  const value = Number(amount);
  if (!Number.isSafeInteger(value)) throw new RangeError(`amount ${amount} is no JSON integer`);
  return value;
}

/** The bytes of a body that is posted on one line. */
export function jsonBody(event: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(event));
}

export function seconds(atMs: number): number {
  return Math.floor(atMs / 1000);
}

/** Six decimals, as several providers write their times. */
export function microseconds(atMs: number): string {
  return new Date(atMs).toISOString().replace("Z", "000Z");
}

/** Written by `write`, unless there is none. */
export function orNull<T>(write: (at: number) => T, at: number | null | undefined): T | null {
  return at === null || at === undefined ? null : write(at);
}

export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
