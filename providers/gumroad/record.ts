/**
 * The sale as Gumroad's API has it (`GET /v2/sales/<id>`), asked with the integration's
 * `access_token`: nothing signs a ping, so the record decides what a sale, its refund or its
 * dispute is worth. Without a token the ping is believed, because its URL is a secret.
 */
import { z } from "zod";
import { limits } from "../../config.js";
import { alpha2OfName } from "../../schemas/countries.js";
import { exponentOf, majorToMinor } from "../../schemas/money/money.js";
import { malformed, rejected, type Unreported } from "../outcomes.js";
import type { Known, Question } from "../provider.js";
import type { Sale } from "./ping.js";

const cents = z
  .int()
  .nonnegative()
  .max(Number(limits.amountMinorMax))
  .transform((amount) => BigInt(amount));

const recordShape = z.object({
  price: cents,
  gumroad_fee: cents.nullish(),
  refunded: z.boolean().nullish(),
  partially_refunded: z.boolean().nullish(),
  /** In the currency of the listing, as people write it: "1,234.50". */
  amount_refundable_in_currency: z.string().nullish(),
  /** What the sale was listed in, which its product may not be any more; since August 2026. */
  currency: z.string().nullish().catch(null),
  currency_symbol: z.string().nullish().catch(null),
  country_iso2: z.string().nullish().catch(null),
  recurring_charge: z.boolean().nullish(),
  is_upgrade_purchase: z.boolean().nullish(),
  is_preorder_authorization: z.boolean().nullish(),
  is_gift_receiver_purchase: z.boolean().nullish(),
  /** False of what is sold once, also where it is paid in instalments. */
  is_recurring_billing: z.boolean().nullish(),
  /** "Mar 8, 2026" */
  free_trial_ends_on: z.string().nullish(),
});
export type SaleRecord = z.output<typeof recordShape>;

const foundShape = z.object({ success: z.literal(true), sale: recordShape });
/** Gumroad answers 200 to that, too. */
const notFoundShape = z.object({ success: z.literal(false) });

export function questionOf(saleId: string): Question {
  return { path: pathOfSale(saleId), importance: "required", freshForMs: 0 };
}

/** @returns null when the API was not asked (no token) */
export function recordOf(saleId: string, known: Known): SaleRecord | Unreported | null {
  const answer = known.answers.get(pathOfSale(saleId));
  if (answer === undefined) return null;
  if (answer === null || notFoundShape.safeParse(answer).success) {
    return rejected("sale_unknown", "Gumroad knows no such sale of this seller");
  }
  const found = foundShape.safeParse(answer);
  return found.success ? found.data.sale : malformed(found.error);
}

/** The record's code, else what the ping's English name stands for; null when neither is known. */
export function buyersCountry(sale: Sale, record: SaleRecord | null): string | null {
  const code = record?.country_iso2 ?? "";
  if (/^[A-Z]{2}$/.test(code)) return code;
  return sale.ip_country === undefined ? null : alpha2OfName(sale.ip_country);
}

/**
 * What of the sale is refunded by now, US cents. The ping of a part does not say how much, and
 * the record says what is left in the currency of the listing: only dollars can be subtracted.
 */
export function refundedCents(sale: Sale, record: SaleRecord | null): bigint | Unreported {
  if (record === null) {
    if (sale.refunded) return sale.price;
    return rejected(
      "enrichment_unavailable",
      "How much of a sale was refunded is reported by Gumroad's API only: give an access_token",
    );
  }
  if (record.refunded === true) return record.price;
  if (record.partially_refunded !== true) {
    return rejected("refund_unconfirmed", "Gumroad shows no refund of this sale");
  }
  if (!isInDollars(sale, record)) {
    return rejected("refund_amount_unknown", "A part refunded of a sale not listed in dollars");
  }
  const left = leftOf(record);
  if (left === null) {
    return rejected("refund_amount_unknown", "What is left of the sale contradicts its refund");
  }
  return record.price - left;
}

/**
 * What a dispute takes, US cents: all that was not refunded before. Source: antiwork/gumroad,
 * `decrement_balance_for_refund_or_chargeback!`. Where a refunded part cannot be read it is not
 * booked either, and the whole is out.
 */
export function disputedCents(sale: Sale, record: SaleRecord | null): bigint {
  if (record === null) return sale.price;
  const isPart = record.partially_refunded === true && record.refunded !== true;
  return (isPart && isInDollars(sale, record) ? leftOf(record) : null) ?? record.price;
}

/**
 * What a sale came to in the currency of its listing, minor units, as its record says what of it
 * can be refunded: from US cents, at the rate of the sale. Null where that is not reported, or a
 * part is refunded.
 */
export function listedAmount(sale: Sale, record: SaleRecord | null): bigint | null {
  if (record === null) return sale.currency === "usd" ? sale.price : null;
  if (isInDollars(sale, record)) return record.price;
  if (record.refunded === true || record.partially_refunded === true) return null;
  const exponent = exponentOf(record.currency?.toUpperCase() ?? "");
  const { amount_refundable_in_currency: text } = record;
  const amount = exponent === null ? null : majorToMinor(text?.replaceAll(",", "") ?? "", exponent);
  return amount !== null && amount > 0n ? amount : null;
}

/** A ping says what the product is listed in now, a record what is left in that of the sale. */
function isInDollars(sale: Sale, { currency, currency_symbol: symbol }: SaleRecord): boolean {
  if (typeof currency === "string") return currency.toLowerCase() === "usd";
  return sale.currency === "usd" && (symbol ?? "$") === "$";
}

/** US cents of a sale listed in dollars that is refunded in part; null: it contradicts that. */
function leftOf({ amount_refundable_in_currency: text, price }: SaleRecord): bigint | null {
  const left = majorToMinor(text?.replaceAll(",", "") ?? "", 2);
  return left !== null && left > 0n && left < price ? left : null;
}

/** Of a gift: the sale to its receiver, whose price is 0. */
export function isGift(sale: Sale, record: SaleRecord | null): boolean {
  return record?.is_gift_receiver_purchase ?? sale.is_gift_receiver_purchase;
}

/** Of a product sold once: its ping may name a subscription and a recurrence all the same. */
export function isInstalment(record: SaleRecord | null): boolean {
  return record?.is_recurring_billing === false;
}

/** ms since 1970 of the day a free trial ends; null where there is none, or it cannot be read. */
export function trialEndOf({ free_trial_ends_on: text }: SaleRecord): number | null {
  const match = /^([A-Z][a-z]{2}) (\d{1,2}), (\d{4})$/.exec(text ?? "");
  const month = monthNames.indexOf(match?.[1] ?? "");
  if (match === null || month < 0) return null;
  return Date.UTC(Number(match[3]), month, Number(match[2]));
}

const monthNames = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

export function pathOfSale(saleId: string): string {
  return `/v2/sales/${encodeURIComponent(saleId)}`;
}
