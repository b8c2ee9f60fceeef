/**
 * What a backfill read, as a ping would have said it: with the whole sale as `GET /v2/sales` lists
 * it, so that it is not looked up once more. Only what a backfill read may bring its own record:
 * nobody signs a ping.
 */
import { isObject } from "../fields.js";
import { historyPrefix } from "../history-events.js";
import type { Known } from "../provider.js";
import { pathOfSale } from "./record.js";

export function isOfHistory({ nativeId }: Known): boolean {
  return nativeId?.startsWith(historyPrefix) === true;
}

/** @returns as if its sale had been looked up, where a backfill has listed it */
export function withListed(body: unknown, known: Known): Known {
  const sale = isObject(body) ? body.listed : undefined;
  if (!isOfHistory(known) || !isObject(sale)) return known;
  const answers = new Map(known.answers);
  answers.set(pathOfSale(String(sale.id)), { success: true, sale });
  return { ...known, answers };
}
