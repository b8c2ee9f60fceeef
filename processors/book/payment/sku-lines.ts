/** Lines of a sale by SKU. */
import type { Line } from "../../../schemas/records/records.js";

/** Lines of one SKU become one; without any there is one nobody has named. */
export function bySku(lines: readonly Line[]): Line[] {
  const weights = new Map<string, bigint>();
  for (const { external_id, weight } of lines) {
    weights.set(external_id, (weights.get(external_id) ?? 0n) + weight);
  }
  if (weights.size === 0) weights.set("", 1n);
  return [...weights].map(([external_id, weight]) => ({ external_id, weight }));
}
