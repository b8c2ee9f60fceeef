/**
 * A membership's price, from its charges. A plan's prices are in the currency of the
 * listing, which only a charge translates into dollars: so the first of each membership is kept,
 * and paired with the plan it paid for (`provider.ts`, KeptObject).
 */
import { z } from "zod";
import { type Fraction, fraction, multiplyFractions } from "../../schemas/money/monthly.js";
import type { KeptObject, Known } from "../provider.js";
import type { Sale } from "./ping.js";
import { type Plan, planAt, type Plans, plansOf } from "./plans.js";
import { buyersCountry, listedAmount, type SaleRecord } from "./record.js";

/** US cents of a charge, and whether it was a renewal: the first one is then older. */
const chargeShape = z.object({
  cents: z.string(),
  recurring: z.boolean(),
  /** ms since 1970 */
  at: z.number(),
  /** Of the buyer; pings about the plan report none. */
  country: z.string().nullable(),
  /** The same in the currency of the listing, minor units; null where nobody reports it. */
  listed: z.string().nullable(),
});
export type Charge = z.output<typeof chargeShape>;

/** `reportedAt` counts backwards, so that the earliest stays. */
export function keptCharge(
  sale: Sale,
  record: SaleRecord | null,
  kept: Known["kept"],
): KeptObject[] {
  const { subscription_id: subscription, sale_timestamp: at } = sale;
  const cents = record?.price ?? sale.price;
  if (subscription === undefined || cents === 0n) return [];
  const recurring = record?.recurring_charge ?? sale.is_recurring_charge;
  const isRest = recurring && isRestOfPeriod(at, markOf(record), plansOf(subscription, kept));
  const id = isRest ? firstRest(subscription) : firstCharge(subscription);
  const country = buyersCountry(sale, record);
  const listed = listedAmount(sale, record)?.toString() ?? null;
  const object = { cents: cents.toString(), recurring, at, country, listed };
  return [{ id, reportedAt: -at, refers: [], object }];
}

export function neededCharges(subscription: string): string[] {
  return [firstCharge(subscription), firstRest(subscription)];
}

/** The earliest that paid for a whole period; null while none is known. */
export function firstChargeOf(subscription: string, kept: Known["kept"]): Charge | null {
  return chargeShape.safeParse(kept.get(firstCharge(subscription))).data ?? null;
}

/** Null without an access token: then the pings about the plan must report. */
export function markOf(record: SaleRecord | null): boolean | null {
  return record?.is_upgrade_purchase ?? null;
}

/**
 * Whether a charge takes the rest of a period only, as that of an upgrade does. Gumroad marks the
 * first charge of an announced change in the same way, and that of an upgrade from a free plan:
 * both are whole.
 */
export function isRestOfPeriod(at: number, marked: boolean | null, plans: Plans): boolean {
  const change = plans.changes.findLast(
    ({ validFrom }) => validFrom <= at + secondMs && at - validFrom < dayMs,
  );
  if (change === undefined) return marked === true;
  const { before, after } = change;
  return before.price > 0n && before.price <= after.price && marked !== false;
}

/**
 * From a plan to US cents a charge: the first charge's × its price ÷ the price of the plan that
 * was paid for by it. Null, no plan, is what the membership began with.
 * @returns with the buyer's country as that charge reports it; null while none is known
 */
export function translation(subscription: string, kept: Known["kept"], plans: Plans) {
  const charge = firstChargeOf(subscription, kept) ?? wholeAfterAll(subscription, kept, plans);
  if (charge === null) return null;
  const cents = fraction(BigInt(charge.cents));
  const paid = plans.changes.length === 0 ? null : paidPrice(plans, charge);
  if (paid === 0n) return null;
  const centsOf = (plan: Plan | null): Fraction =>
    plan === null || paid === null ? cents : multiplyFractions(cents, fraction(plan.price, paid));
  return { centsOf, country: charge.country };
}

/** What was taken for the rest of a period before the ping about its plan came. */
function wholeAfterAll(subscription: string, kept: Known["kept"], plans: Plans): Charge | null {
  const charge = chargeShape.safeParse(kept.get(firstRest(subscription))).data;
  return charge === undefined || isRestOfPeriod(charge.at, true, plans) ? null : charge;
}

/**
 * Of the plan a charge paid for. What the pings report it is another plan's price where the change
 * between both was never reported, or is still to come: so the charge decides, where it reports its
 * own.
 */
function paidPrice(plans: Plans, { at, cents, listed }: Charge): bigint {
  const reported = reportedPrice(plans, at);
  if (listed === null) return reported;
  const price = BigInt(listed);
  const difference = reported > price ? reported - price : price - reported;
  // What is listed in another currency is known as exactly as a cent is.
  return difference * BigInt(cents) <= price ? reported : price;
}

/** No charge pays for a free plan: then it is the first of the plan that follows. */
function reportedPrice(plans: Plans, at: number): bigint {
  const price = planAt(plans, at).plan?.price ?? 0n;
  if (price > 0n) return price;
  const next = plans.changes.find(({ validFrom, after }) => validFrom >= at && after.price > 0n);
  return next?.after.price ?? 0n;
}

/** Times of sales are whole seconds, those of plans are not. */
const secondMs = 1000;
/** A charge that fails is tried again on the next day. */
const dayMs = 24 * 60 * 60 * 1000;

const firstCharge = (subscription: string): string => `first-sale:${subscription}`;
const firstRest = (subscription: string): string => `first-rest:${subscription}`;
