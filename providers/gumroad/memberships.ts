/**
 * What memberships are worth (`definitions.md`, Providers: Gumroad). MRR starts with the first
 * charged sale and changes by the ratio of a plan's new price to its old one: a plan's prices are
 * in the currency of the listing, which only that first sale translates into dollars. So each
 * membership's first sale and its first and newest plan are kept (`provider.ts`, KeptObject).
 */
import { z } from "zod";
import {
  type Fraction,
  fraction,
  monthlyFraction,
  multiplyFractions,
} from "../../schemas/monthly.js";
import type { FactBody, Item } from "../../schemas/records.js";
import { ignored, rejected } from "../outcomes.js";
import type { KeptObject, Known } from "../provider.js";
import { accountOf, type Membership, type Sale } from "./ping.js";
import { isInstalment, type SaleRecord, trialEndOf } from "./record.js";
import type { Told } from "./sales.js";

export type MembershipReader = (membership: Membership, known: Known | undefined) => Told;

/** US cents of the earliest sale known, and whether that was a renewal: the first is then older. */
const firstSaleShape = z.object({ cents: z.string(), recurring: z.boolean() });
/** Price of a plan in its own minor units. */
const planShape = z.object({ price: z.string() });

/** `toldAt` counts backwards where the earliest telling shall stay. */
export function keptSale(sale: Sale): KeptObject[] {
  if (sale.subscription_id === undefined || sale.price === 0n) return [];
  const object = { cents: sale.price.toString(), recurring: sale.is_recurring_charge };
  const toldAt = -sale.sale_timestamp;
  return [{ id: firstSale(sale.subscription_id), toldAt, refers: [], object }];
}

/** What pings about the plan do not say of it: it is no membership. */
export function keptInstalments({ subscription_id: subscription }: Sale): KeptObject[] {
  return subscription === undefined
    ? []
    : [{ id: instalments(subscription), toldAt: 0, refers: [], object: {} }];
}

export function isOfInstalments(membership: Membership, known: Known | undefined): boolean {
  return known?.kept.has(instalments(membership.subscription_id)) === true;
}

export function keptPlans(membership: Membership): KeptObject[] {
  const { subscription_id: subscription, effective_as_of: at } = membership;
  const { "old_plan[price_cents]": before, "new_plan[price_cents]": after } = membership;
  if (at === undefined || before === undefined || after === undefined) return [];
  return [
    { id: firstPlan(subscription), toldAt: -at, refers: [], object: { price: `${before}` } },
    { id: newestPlan(subscription), toldAt: at, refers: [], object: { price: `${after}` } },
  ];
}

export function neededOf(subscription: string): string[] {
  const names = [firstSale, firstPlan, newestPlan, instalments];
  return names.map((nameOf) => nameOf(subscription));
}

interface Charged {
  readonly sale: Sale;
  readonly record: SaleRecord | null;
  readonly recurring: boolean;
  /** US cents */
  readonly amount: bigint;
}

/** The state a charged sale begins; nothing for later charges, which may be prorated. */
export function firstPeriod(
  { sale, record, recurring, amount }: Charged,
  kept: Known["kept"],
): FactBody[] {
  const { subscription_id: subscription, recurrence, sale_timestamp: at } = sale;
  if (subscription === undefined || recurrence === undefined) return [];
  if (isInstalment(record)) return [];
  if (recurring && !isFirstKnown(sale, record, recurrence, kept)) return [];
  const items = itemsOf(subscription, sale.product_id, fraction(amount), recurrence);
  return [
    {
      Subscription: {
        subscription,
        account: accountOf(sale.purchaser_id, sale.email) ?? subscription,
        country: null, // later pings about it tell none
        currency: items.length === 0 ? "" : "USD",
        phase: recurring ? "changed" : "started",
        steps: [{ at, items }],
      },
    },
  ];
}

/** The first charge after a free trial, or of a membership older than the webhook. */
function isFirstKnown(
  sale: Sale,
  record: SaleRecord | null,
  recurrence: bigint,
  kept: Known["kept"],
): boolean {
  if (record?.is_upgrade_purchase === true) return false;
  const trialEnd = record && trialEndOf(record);
  if (trialEnd !== null && sale.sale_timestamp < secondChargeAfter(trialEnd, recurrence)) {
    return true;
  }
  const first = kept.get(firstSale(sale.subscription_id ?? ""));
  return first !== undefined && firstSaleShape.safeParse(first).data?.recurring === true;
}

/** No second charge comes before this; the trial's end is told as a day of no named zone. */
function secondChargeAfter(trialEnd: number, recurrence: bigint): number {
  const date = new Date(trialEnd);
  return date.setUTCMonth(date.getUTCMonth() + Number(recurrence)) - 2 * 24 * 60 * 60 * 1000;
}

/** A plan that becomes valid later is announced: until then the old price is said again. */
export function readPlanChange(membership: Membership, known: Known | undefined): Told {
  const { subscription_id: subscription, effective_as_of: at, product_id } = membership;
  const { "old_plan[price_cents]": before, "new_plan[price_cents]": after } = membership;
  const { recurrence: recurrenceNow, "new_plan[recurrence]": recurrence } = membership;
  if (at === undefined || before === undefined || after === undefined) {
    return rejected("malformed", "effective_as_of, old_plan or new_plan is missing");
  }
  if (inTrial(membership, at)) return ignored("nothing is charged for the plan yet");
  const price = translation(subscription, known, before);
  if (price === null) return firstSaleUnknown;
  const months = recurrence ?? recurrenceNow;
  if (months === undefined) return rejected("malformed", "recurrence: missing");
  const items = itemsOf(subscription, product_id, price(after), months);
  const toldAt = known?.firstReceivedAt ?? at;
  if (at <= toldAt) return [stateOf(membership, [{ at, items }])];
  const until = itemsOf(subscription, product_id, price(before), recurrenceNow ?? months);
  return [
    stateOf(membership, [
      { at: toldAt, items: inTrial(membership, toldAt) ? [] : until },
      { at, items },
    ]),
  ];
}

/** A cancellation taken back: worth what it was, also when it had ended meanwhile. */
export function readRestart(membership: Membership, known: Known | undefined): Told {
  const { subscription_id: subscription, restarted_at: at, recurrence, product_id } = membership;
  if (at === undefined || recurrence === undefined) {
    return rejected("malformed", "restarted_at or recurrence is missing");
  }
  if (inTrial(membership, at)) return ignored("its trial goes on");
  const price = translation(subscription, known);
  if (price === null) return firstSaleUnknown;
  const newest = planShape.safeParse(known?.kept.get(newestPlan(subscription)));
  const now = newest.success ? price(BigInt(newest.data.price)) : price(null);
  return [stateOf(membership, [{ at, items: itemsOf(subscription, product_id, now, recurrence) }])];
}

export function readEnd(membership: Membership): Told {
  const { ended_at: at } = membership;
  if (at === undefined) return rejected("malformed", "ended_at: missing");
  return [stateOf(membership, [{ at, items: [] }], "ended")];
}

const firstSaleUnknown = rejected(
  "enrichment_unavailable",
  "No sale of this membership has come, so its price in dollars is not known",
);

type Steps = Extract<FactBody, { Subscription: unknown }>["Subscription"]["steps"];

function stateOf(
  membership: Membership,
  steps: Steps,
  phase: "changed" | "ended" = "changed",
): FactBody {
  const { subscription_id: subscription, user_id, user_email } = membership;
  return {
    Subscription: {
      subscription,
      account: accountOf(user_id, user_email) ?? subscription,
      country: null,
      currency: steps.some(({ items }) => items.length > 0) ? "USD" : "",
      phase,
      steps,
    },
  };
}

/**
 * From a price of the listing to US cents: the first sale's cents × price ÷ first plan's price.
 * `null` is the price the membership began with. Null: no sale is known.
 */
function translation(
  subscription: string,
  known: Known | undefined,
  planBefore = 0n,
): ((price: bigint | null) => Fraction) | null {
  const sale = firstSaleShape.safeParse(known?.kept.get(firstSale(subscription)));
  if (!sale.success) return null;
  const cents = fraction(BigInt(sale.data.cents));
  const plan = planShape.safeParse(known?.kept.get(firstPlan(subscription)));
  const first = plan.success ? BigInt(plan.data.price) : planBefore;
  return (price) =>
    price === null || first === 0n ? cents : multiplyFractions(cents, fraction(price, first));
}

function inTrial({ free_trial_ends_at: end }: Membership, at: number): boolean {
  return end !== undefined && at < end;
}

/** The membership is its own only item, so its rate is held while its price is the same. */
function itemsOf(subscription: string, product: string, cents: Fraction, months: bigint): Item[] {
  if (cents.numerator === 0n) return [];
  const monthly = monthlyFraction({
    unitAmountMinor: cents,
    quantity: 1n,
    interval: "month",
    intervalCount: months,
  });
  return [
    {
      item: subscription,
      external_id: product,
      monthly_numerator: monthly.numerator,
      monthly_denominator: monthly.denominator,
    },
  ];
}

const firstSale = (subscription: string): string => `first-sale:${subscription}`;
const firstPlan = (subscription: string): string => `first-plan:${subscription}`;
const newestPlan = (subscription: string): string => `newest-plan:${subscription}`;
const instalments = (subscription: string): string => `instalments:${subscription}`;
