/** The fields of a RevenueCat event that move money or MRR, turned into ours. */
import { z } from "zod";
import {
  type Decimal,
  exponentOf,
  parseDecimal,
  powerOfTen,
  rescale,
} from "../../schemas/money/money.js";
import { idText, timeMs } from "../fields.js";
import { contradictory, rejected, type Unreported } from "../outcomes.js";

/** A JSON number as its shortest decimal form says, so that 19.99 is 1999 cents. */
const decimal = z
  .number()
  .transform((value, context): Decimal => {
    const parsed = parseDecimal(String(value));
    if (parsed !== null) return parsed;
    context.addIssue({ code: "custom", message: "no amount" });
    return z.NEVER;
  })
  .nullish();

/** Of every type that is read. */
export const eventShape = z.object({
  type: z.string(),
  event_timestamp_ms: timeMs,
  environment: z.string().nullish(),
  store: z.string().nullish(),
  period_type: z.string().nullish(),
  purchased_at_ms: timeMs.nullish(),
  expiration_at_ms: timeMs.nullish(),
  product_id: idText.nullish(),
  /** Null of what passed through no store, such as access that was given away. */
  transaction_id: idText.nullish(),
  original_transaction_id: idText.nullish(),
  app_user_id: idText.nullish(),
  original_app_user_id: idText.nullish(),
  is_family_share: z.boolean().nullish(),
  cancel_reason: z.string().nullish(),
  expiration_reason: z.unknown().optional(),
  currency: z.string().nullish(),
  price: decimal,
  price_in_purchased_currency: decimal,
  tax_percentage: decimal.catch(null),
  commission_percentage: decimal.catch(null),
  country_code: z.unknown().optional(),
  subscriber_attributes: z.unknown().optional(),
});
export type RevenueCatEvent = z.output<typeof eventShape>;

/** What an event says was paid, with its sign. */
export interface Price {
  readonly amount: bigint;
  /** ISO 4217 */
  readonly currency: string;
  readonly tax: bigint | null;
  readonly fee: bigint | null;
}

/**
 * In the currency of the purchase; where that is not reported the estimate in USD, never one's
 * number with the other's currency. Null: no price is known.
 */
export function priceOf(event: RevenueCatEvent): Price | Unreported | null {
  const { price_in_purchased_currency: own, price: inUsd } = event;
  const reported = event.currency ? own : null;
  const value = reported ?? inUsd;
  if (value === null || value === undefined) return null;
  if (value.digits === 0n && inUsd && inUsd.digits !== 0n) {
    return contradictory("The price is 0 in the currency of the purchase and another in USD");
  }
  const currency = reported ? (event.currency ?? "").toUpperCase() : "USD";
  const exponent = exponentOf(currency);
  if (exponent === null) return unknownCurrency;
  const part = (share: Decimal | null | undefined): bigint | null =>
    share && isShare(share) ? rescale(multiplied(value, share), exponent).digits : null;
  return {
    amount: rescale(value, exponent).digits,
    currency,
    tax: part(event.tax_percentage),
    fee: part(event.commission_percentage),
  };
}

/**
 * In which another event of the same purchase may have reported its price (ISO 4217): its own
 * currency, and USD unless this event shows a price in its own. Empty: this one reports neither.
 */
export function currenciesOf(event: RevenueCatEvent): readonly string[] | Unreported {
  const own = (event.currency ?? "").toUpperCase();
  const isKnown = exponentOf(own) !== null;
  if (own !== "" && event.price_in_purchased_currency) return isKnown ? [own] : unknownCurrency;
  const inDollars = isKnown || event.price ? ["USD"] : [];
  return isKnown && own !== "USD" ? [own, ...inDollars] : inDollars;
}

const unknownCurrency = rejected("currency_unknown", "event.currency is no currency of ISO 4217");

/** ISO 3166-1 alpha-2; anything odd is an unknown country and costs no payment. */
export function countryOf({ country_code: code }: RevenueCatEvent): string | null {
  const upper = typeof code === "string" ? code.toUpperCase() : "";
  return /^[A-Z]{2}$/.test(upper) ? upper : null;
}

/** Tax and fee are optional: an odd percentage (they are fractions, 0 to 1) must not cost it. */
function isShare({ digits, scale }: Decimal): boolean {
  return digits >= 0n && digits <= powerOfTen(scale);
}

function multiplied(one: Decimal, other: Decimal): Decimal {
  return { digits: one.digits * other.digits, scale: one.scale + other.scale };
}

export function subscriptionOf(event: RevenueCatEvent): string | null {
  return event.original_transaction_id ?? event.transaction_id ?? null;
}
