/**
 * When a refund or a dispute happened. Gumroad does not say, so its date is when its ping was first
 * received. One that only a backfill found is dated with its sale, which is nearer the truth than
 * the day of the backfill. A date that a ping gave is kept.
 */
import type { KeptObject, Known } from "../provider.js";
import { isOfHistory } from "./listed.js";
import type { Sale } from "./ping.js";
import { refundedCents, type SaleRecord } from "./record.js";

/** ms since 1970; undefined where nobody knows. */
export function noticedAt(resource: string, sale: Sale, known: Known): number | undefined {
  const isNew = isOfHistory(known) && !known.kept.has(noticeId(resource, sale.sale_id));
  return isNew ? sale.sale_timestamp : known.firstReceivedAt;
}

export function noticeId(resource: string, sale: string): string {
  return `notice:${resource}:${sale}`;
}

/** Of a ping. */
export function keptNotice(resource: string, sale: Sale, record: SaleRecord | null): KeptObject[] {
  // It moves nothing as long as Gumroad does not show it.
  const isShown = resource !== "refund" || typeof refundedCents(sale, record) === "bigint";
  const id = noticeId(resource, sale.sale_id);
  return isShown ? [{ id, reportedAt: 0, refers: [], object: {} }] : [];
}
