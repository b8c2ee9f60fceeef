/**
 * RevenueCat's Scheduled Data Export of transactions as CSV or Parquet, version 4 and later. A line
 * is a purchase or a period of a subscription, as it stands when the file is written; it is
 * reported as the webhook events it led to, so that both are read by the same rules (decode.ts).
 * Sources: docs/providers/revenuecat.md.
 */
import { z } from "zod";
import { issueText } from "../../schemas/issues.js";
import { decimalText, parseDecimal, rescale } from "../../schemas/money/money.js";
import type { HistoryEvent } from "../backfill.js";
import { compiled, idText } from "../fields.js";
import type { Beside, ExportedLine, ExportPlace, HistoryExport } from "../backfill.js";
import { historyId, listedPayments } from "../history-events.js";
import { decode } from "./decode.js";

/** `2023-02-20 05:47:55`, in UTC. */
const time = z
  .string()
  .transform((text) => {
    const [, day, clock] = timeText.exec(text) ?? [];
    return Date.parse(`${day}T${clock}Z`);
  })
  .refine((at) => !Number.isNaN(at), "no time in UTC");
const timeText = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?: ?UTC|Z|\+00(?::?00)?)?$/;
/** Until version 3 `t` and `f`. */
const flag = z.enum(["true", "false", "t", "f"]).transform((text) => text.startsWith("t"));
const decimal = z.string().refine((text) => parseDecimal(text) !== null, "no decimal number");

const lineShape = {
  rc_original_app_user_id: idText,
  product_identifier: idText,
  start_time: time,
  end_time: time.optional(),
  effective_end_time: time.optional(),
  store: z.string(),
  is_auto_renewable: flag,
  is_trial_period: flag,
  is_sandbox: flag,
  purchase_price_in_purchased_currency: decimal.optional(),
  /** What refunds left of it. */
  price_in_purchased_currency: decimal.optional(),
  purchased_currency: z.string().optional(),
  store_transaction_id: idText,
  original_store_transaction_id: idText.optional(),
  refunded_at: time.optional(),
  renewal_number: z.string(),
  ownership_type: z.string().optional(),
  updated_at: time,
};
const moreShape = {
  is_in_intro_offer_period: flag.optional(),
  grace_period_end_time: time.optional(),
  auto_resume_time: time.optional(),
  billing_issues_detected_at: time.optional(),
  unsubscribe_detected_at: time.optional(),
  tax_percentage: decimal.optional(),
  commission_percentage: decimal.optional(),
  country: z.string().optional(),
};
const shape = compiled(z.object({ ...lineShape, ...moreShape }));
type Line = z.output<typeof shape>;

export const revenueCatExport: HistoryExport = {
  name: "transactions",
  file: "Scheduled Data Export of transactions, as CSV, gzip or Parquet (version 4 or later)",
  columns: { required: Object.keys(lineShape), optional: Object.keys(moreShape) },
  missing: [
    "Purchases without a price in their own currency are left out: a webhook may have reported " +
      "them in another one.",
    "When a subscription was paused, extended or changed within a period is not in the file, " +
      "unless RevenueCat ended the period then.",
    "A refund that was reversed shows only in its webhook.",
    "The price difference that the App Store gives back for an upgrade is not dated, and is left " +
      "out.",
    "Prepaid plans are read as one-time payments: the file has no end of them.",
    "The file names the customer of today: who was transferred or merged since counts as that " +
      "customer from the start.",
    "Changes since the file was written, such as refunds, are in the next one.",
    "Sandbox purchases are not read.",
  ],
  lineOf(cells) {
    const parsed = shape.safeParse(Object.fromEntries(cells));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return issue === undefined ? "unreadable" : issueText(issue.path.join("."), issue);
    }
    const line = parsed.data;
    if (line.end_time !== undefined && line.end_time < line.start_time) {
      return "end_time is before start_time: Google Play took no payment";
    }
    if (!isFree(line) && (!line.purchased_currency || priceOf(line) === undefined)) {
      return "purchase_price_in_purchased_currency: no price in the currency of the purchase";
    }
    return { place: placeOf(line), read: (beside) => readLine(line, beside) };
  },
};

function placeOf(line: Line): ExportPlace {
  const { store_transaction_id: purchase, original_store_transaction_id: original } = line;
  return {
    thing: original ?? purchase,
    at: line.start_time,
    purchase,
    revision: line.updated_at,
    isSandbox: line.is_sandbox,
  };
}

function readLine(line: Line, beside: Beside): ReturnType<ExportedLine["read"]> {
  const bought = boughtOf(line);
  const refund = refundOf(line);
  const refunded = refund === null ? 0n : refundedIn(refund);
  return {
    events: [bought, refund, billingIssueOf(line, beside), endOf(line, beside)].filter(
      (event) => event !== null,
    ),
    payments: listedPayments(decode(bought.body), refunded),
  };
}

function boughtOf(line: Line): HistoryEvent {
  const first = line.renewal_number === "1" ? "INITIAL_PURCHASE" : "RENEWAL";
  const type = isSubscription(line) ? first : "NON_RENEWING_PURCHASE";
  return eventOf(line, type, line.start_time, { price_in_purchased_currency: priceOf(line) });
}

/** Of the whole, or of what the price fell by since (Google Play refunds parts, too). */
function refundOf(line: Line): HistoryEvent | null {
  const { refunded_at: at, price_in_purchased_currency: left = "0" } = line;
  const [price, rest] = [priceOf(line), parseDecimal(left)];
  if (at === undefined || price === undefined || rest === null || isFree(line)) return null;
  const paid = parseDecimal(String(price)) ?? rest;
  const scale = Math.max(paid.scale, rest.scale);
  const digits = rescale(rest, scale).digits - rescale(paid, scale).digits;
  return eventOf(line, "CANCELLATION", at, {
    cancel_reason: "CUSTOMER_SUPPORT",
    price_in_purchased_currency: Number(decimalText({ digits, scale })),
  });
}

function refundedIn({ body }: HistoryEvent): bigint {
  const decoded = decode(body);
  if (decoded.outcome !== "facts") return 0n;
  const totals = decoded.facts.map((fact) => fact.body);
  return totals.reduce((sum, fact) => ("RefundTotal" in fact ? fact.RefundTotal.amount : sum), 0n);
}

/** The renewal after this period could not be charged. */
function billingIssueOf(line: Line, { asOf }: Beside): HistoryEvent | null {
  const { billing_issues_detected_at: at = asOf + 1 } = line;
  return !isSubscription(line) || at > asOf ? null : eventOf(line, "BILLING_ISSUE", at, {});
}

/**
 * A period that another one follows without a gap has not ended. RevenueCat shortens it when it is
 * refunded or replaced, and when an earlier one is refunded dates its end by the refund.
 */
function endOf(line: Line, { nextAt, asOf }: Beside): HistoryEvent | null {
  const { end_time: end, grace_period_end_time: grace = 0 } = line;
  if (!isSubscription(line) || end === undefined) return null;
  const paidUntil = Math.max(end, grace);
  const at = Math.min(line.effective_end_time ?? paidUntil, paidUntil);
  if (at > asOf || (nextAt !== null && nextAt <= at)) return null;
  return eventOf({ ...line, end_time: at }, "EXPIRATION", at, {
    expiration_reason: endReasonOf(line),
  });
}

function endReasonOf(line: Line): string {
  if (line.auto_resume_time !== undefined) return "SUBSCRIPTION_PAUSED";
  if (line.billing_issues_detected_at !== undefined) return "BILLING_ERROR";
  return line.unsubscribe_detected_at === undefined ? "UNKNOWN" : "UNSUBSCRIBE";
}

/** @param at dates it among other readings of the same purchase */
function eventOf(line: Line, type: string, at: number, more: object): HistoryEvent {
  const { store_transaction_id: transaction, original_store_transaction_id: original } = line;
  const share = (text: string | undefined) => (text === undefined ? null : Number(text));
  const object = {
    type,
    event_timestamp_ms: at,
    environment: line.is_sandbox ? "SANDBOX" : "PRODUCTION",
    store: line.store.toUpperCase(),
    period_type: periodTypeOf(line),
    purchased_at_ms: line.start_time,
    expiration_at_ms: line.end_time ?? null,
    product_id: line.product_identifier,
    transaction_id: transaction,
    original_transaction_id: original ?? transaction,
    original_app_user_id: line.rc_original_app_user_id,
    is_family_share: line.ownership_type === "FAMILY_SHARED",
    currency: line.purchased_currency ?? null,
    tax_percentage: share(line.tax_percentage),
    commission_percentage: share(line.commission_percentage),
    country_code: line.country ?? null,
    ...more,
  };
  // Several files may say different things of it: the same one counts in whichever order they came.
  const nativeId = historyId(transaction, { type, at, object }, { passing: /^$/, reading: "" });
  return { nativeId, body: { event: { ...object, id: nativeId } } };
}

function priceOf({ purchase_price_in_purchased_currency: price }: Line): number | undefined {
  return price === undefined ? undefined : Number(price);
}

/** What was given away is none, even where the file says it renews: its webhook says so. */
function isSubscription(line: Line): boolean {
  return line.is_auto_renewable && periodTypeOf(line) !== "PROMOTIONAL";
}

function isFree(line: Line): boolean {
  return (
    line.ownership_type === "FAMILY_SHARED" || ["TRIAL", "PROMOTIONAL"].includes(periodTypeOf(line))
  );
}

function periodTypeOf(line: Line): string {
  if (line.store.toUpperCase() === "PROMOTIONAL") return "PROMOTIONAL";
  if (line.is_trial_period) return "TRIAL";
  return line.is_in_intro_offer_period === true ? "INTRO" : "NORMAL";
}
