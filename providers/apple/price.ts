/**
 * What a transaction says was paid, and what of that was given back. Source: developer.apple.com,
 * App Store Server Notifications: price, TransactionMultiSeatInfo, revocationPercentage.
 */
import { z } from "zod";
import { limits } from "../../config.js";
import { divideRounded, exponentOf, rescale } from "../../schemas/money/money.js";
import { anyCaseCurrency, timeMs } from "../fields.js";

/** Thousandths of the currency's unit: 10990 is 10.99 USD. */
export const milliunits = z
  .int()
  .nonnegative()
  .max(Number(limits.amountMinorMax))
  .transform((amount) => BigInt(amount));
const count = z
  .int()
  .nonnegative()
  .transform((number) => BigInt(number));

/** App Store Connect allows five. */
const tiersMax = 100;

/** Of a subscription that was bought for several people at once. */
const seats = z.object({
  priceTiers: z
    .array(z.object({ price: milliunits, quantity: count }))
    .max(tiersMax)
    .nullish(),
  revokedSeatQuantity: count.nullish(),
});

export const pricedFields = {
  // Price and currency are absent from transactions of before October 2023.
  price: milliunits.nullish(),
  currency: anyCaseCurrency.nullish(),
  quantity: count.nullish().catch(null),
  multiSeatInfo: seats.nullish(),
  offerDiscountType: z.string().nullish(),
  revocationDate: timeMs.nullish(),
  /** Thousandths of a percent: 50000 is half. */
  revocationPercentage: z.int().min(0).max(100_000).nullish(),
};
type Priced = z.output<z.ZodObject<typeof pricedFields>>;

export interface Price {
  /** ISO minor units, for all of the quantity. */
  readonly amount: bigint;
  readonly currency: string;
}

/** @returns null when it is not reported; a free trial costs nothing, even if it has a price */
export function priceOf(priced: Priced): Price | null {
  const { currency: code, offerDiscountType } = priced;
  if (offerDiscountType === "FREE_TRIAL") return { amount: 0n, currency: code ?? "" };
  const paid = paidOf(priced);
  return paid === null || !code ? null : { amount: minorOf(paid, code), currency: code };
}

/** The price is for all of the quantity, but of seats it is the average: their tiers report all. */
function paidOf({ price, quantity, multiSeatInfo }: Priced): bigint | null {
  if (!multiSeatInfo) return price ?? null;
  const tiers = multiSeatInfo.priceTiers ?? [];
  if (tiers.length > 0) return tiers.reduce((sum, tier) => sum + tier.price * tier.quantity, 0n);
  return typeof price === "bigint" && quantity ? price * quantity : null;
}

/** `revocationPercentage` of the price, else that of the seats given back, else all of it. */
export function revokedPart({ amount, currency }: Price, priced: Priced): Price {
  const { part, whole } = revokedShare(priced);
  return { amount: divideRounded(amount * part, whole), currency };
}

function revokedShare(priced: Priced): { part: bigint; whole: bigint } {
  const { revocationPercentage: percentage, revocationDate: revokedAt, quantity } = priced;
  if (typeof percentage === "number") return { part: BigInt(percentage), whole: 100_000n };
  const revoked = priced.multiSeatInfo?.revokedSeatQuantity ?? 0n;
  // The date comes with the last seat.
  const isPart = revoked > 0n && quantity && revoked < quantity && typeof revokedAt !== "number";
  return isPart ? { part: revoked, whole: quantity } : { part: 1n, whole: 1n };
}

/** Exact wherever Apple's prices have no more decimals than the currency, which is everywhere. */
export function minorOf(thousandths: bigint, code: string): bigint {
  return rescale({ digits: thousandths, scale: 3 }, exponentOf(code) ?? 0).digits;
}
