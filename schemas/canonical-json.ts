/** One text for all JSON texts that mean the same: keys sorted, no spaces, numbers by value. */

/**
 * @param value parsed JSON
 * @param without keys to leave out, wherever they stand
 */
export function canonicalJson(value: unknown, without?: RegExp): string {
  if (typeof value === "number") return String(value);
  if (!isObject(value)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalJson(item, without)).join(",")}]`;
  }
  let members = "";
  // The keys alone are sorted: a history is hashed by this text, object by object.
  for (const key of Object.keys(value).sort()) {
    if (without?.test(key) === true) continue;
    const member = `${JSON.stringify(key)}:${canonicalJson(value[key], without)}`;
    members += members === "" ? member : `,${member}`;
  }
  return `{${members}}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
