/** Names one state of an object, for the id of an event that a backfill makes of it. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../schemas/canonical-json.js";

/** @param passing keys whose values change without a meaning, wherever they stand */
export function stateDigest(object: Readonly<Record<string, unknown>>, passing: RegExp): string {
  const digest = createHash("sha256").update(canonicalJson(lastingOf(object, passing)));
  return digest.digest("hex").slice(0, 32);
}

function lastingOf(value: unknown, passing: RegExp): unknown {
  if (Array.isArray(value)) return value.map((one) => lastingOf(one, passing));
  if (typeof value !== "object" || value === null) return value;
  const lasting = Object.entries(value).filter(([key]) => !passing.test(key));
  return Object.fromEntries(lasting.map(([key, inside]) => [key, lastingOf(inside, passing)]));
}
