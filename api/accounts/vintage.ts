/** A vintage as cohorts name it. Pure. */
import { utcDay } from "../../schemas/money/rates.js";

/**
 * @param vintage `2026-05`, `2026-Q2` or `2026`
 * @returns the first day of its first month, and of the one after its last
 */
export function vintagesOf(vintage: string): { readonly from: string; readonly to: string } {
  const [year = "", part] = vintage.split("-");
  const day = (month: number) => utcDay(Date.UTC(Number(year), month));
  if (part === undefined) return { from: day(0), to: day(12) };
  if (!part.startsWith("Q")) return { from: day(Number(part) - 1), to: day(Number(part)) };
  const quarter = Number(part.slice(1));
  return { from: day(3 * quarter - 3), to: day(3 * quarter) };
}
