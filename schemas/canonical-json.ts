/** One text for all JSON texts that mean the same: keys sorted, no spaces, numbers by value. */

/** @param value parsed JSON */
export function canonicalJson(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}
