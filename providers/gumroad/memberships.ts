/**
 * What memberships are worth (`definitions.md`, Providers: Gumroad). MRR starts with the first
 * charged sale and changes by the ratio of a plan's new price to its old one: charges.ts says what
 * a price is in dollars, plans.ts which plan is valid when.
 */
import { type Fraction, fraction } from "../../schemas/money/monthly.js";
import type { FactBody, Item } from "../../schemas/records/records.js";
import { ignored, rejected } from "../outcomes.js";
import type { KeptObject, Known } from "../provider.js";
import { endStanding, standingOf } from "../standing.js";
import { monthlyItem, type SubscriptionFact } from "../worth.js";
import { firstChargeOf, isRestOfPeriod, markOf, neededCharges, translation } from "./charges.js";
import { accountOf, type Membership, type Sale, type Reported } from "./ping.js";
import { changeIn, type Plan, planAt, plansId, plansOf } from "./plans.js";
import { buyersCountry, isInstalment, type SaleRecord, trialEndOf } from "./record.js";

export type MembershipReader = (membership: Membership, known: Known) => Reported;

/** What pings about the plan do not say of it: it is no membership. */
export function keptInstalments({ subscription_id: subscription }: Sale): KeptObject[] {
  return subscription === undefined
    ? []
    : [{ id: instalments(subscription), reportedAt: 0, refers: [], object: {} }];
}

export function isOfInstalments(membership: Membership, known: Known): boolean {
  return known.kept.has(instalments(membership.subscription_id));
}

/**
 * Whether a sale is a part of what is sold once, not a charge of a membership. Where a seller turns
 * a membership into what is sold once, the records of all its charges say so: what was known as a
 * membership stays one until it ends.
 */
export function isPart(sale: Sale, record: SaleRecord | null, kept: Known["kept"]): boolean {
  if (!isInstalment(record)) return false;
  const subscription = sale.subscription_id ?? "";
  return kept.has(instalments(subscription)) || firstChargeOf(subscription, kept) === null;
}

export function neededOf(subscription: string): string[] {
  return [...neededCharges(subscription), plansId(subscription), instalments(subscription)];
}

interface Charged {
  readonly sale: Sale;
  readonly record: SaleRecord | null;
  readonly recurring: boolean;
  /** US cents */
  readonly amount: bigint;
}

/** The state a membership's charge begins; nothing for later ones, which may be prorated. */
export function firstPeriod(
  { sale, record, recurring, amount }: Charged,
  kept: Known["kept"],
): FactBody[] {
  const { subscription_id: subscription, recurrence, sale_timestamp: at } = sale;
  if (subscription === undefined || recurrence === undefined) return [];
  if (recurring && !isFirstKnown(sale, record, recurrence, kept)) return [];
  const { product_id, purchaser_id: user_id, email: user_email } = sale;
  const member = { subscription_id: subscription, product_id, user_id, user_email };
  const steps = [{ at, items: itemsOf(member, fraction(amount), recurrence) }];
  const phase = recurring ? "changed" : "started";
  return [stateOf(member, steps, { phase, country: buyersCountry(sale, record) })];
}

/** The first charge after a free trial, or of a membership older than the webhook. */
function isFirstKnown(
  sale: Sale,
  record: SaleRecord | null,
  recurrence: bigint,
  kept: Known["kept"],
): boolean {
  const subscription = sale.subscription_id ?? "";
  const plans = plansOf(subscription, kept);
  if (isRestOfPeriod(sale.sale_timestamp, markOf(record), plans)) return false;
  const trialEnd = record && trialEndOf(record);
  if (trialEnd !== null && sale.sale_timestamp < secondChargeAfter(trialEnd, recurrence)) {
    return true;
  }
  return firstChargeOf(subscription, kept)?.recurring ?? true;
}

/** No second charge comes before this; the trial's end is reported as a day of no named zone. */
function secondChargeAfter(trialEnd: number, recurrence: bigint): number {
  const date = new Date(trialEnd);
  return date.setUTCMonth(date.getUTCMonth() + Number(recurrence)) - 2 * 24 * 60 * 60 * 1000;
}

/** A plan that becomes valid later is announced: until then the old price is said again. */
export function readPlanChange(membership: Membership, known: Known): Reported {
  const { subscription_id: subscription } = membership;
  const change = changeIn(membership, known.firstReceivedAt);
  if (change === null) {
    return rejected("malformed", "effective_as_of, recurrence, old_plan or new_plan is missing");
  }
  const { validFrom: at, reportedAt, before, after } = change;
  if (inTrial(membership, at)) return ignored("nothing is charged for the plan yet");
  const plans = plansOf(subscription, known.kept, change);
  const charged = translation(subscription, known.kept, plans);
  if (charged === null) return firstSaleUnknown;
  const itemsOn = (plan: Plan) => itemsOf(membership, charged.centsOf(plan), plan.months);
  const steps = [{ at, items: itemsOn(after) }];
  if (at > reportedAt) {
    const isFree = inTrial(membership, reportedAt);
    steps.unshift({ at: reportedAt, items: isFree ? [] : itemsOn(before) });
  }
  return [stateOf(membership, steps, { phase: "changed", country: charged.country })];
}

/**
 * A cancellation taken back. Where the membership had not ended it is worth what it was, and what
 * was announced goes on waiting; else it is charged the plan it had when it ended.
 */
export function readRestart(membership: Membership, known: Known): Reported {
  const { subscription_id: subscription, restarted_at: at, recurrence } = membership;
  if (at === undefined || recurrence === undefined) {
    return rejected("malformed", "restarted_at or recurrence is missing");
  }
  if (inTrial(membership, at)) return ignored("its trial goes on");
  const plans = plansOf(subscription, known.kept);
  const charged = translation(subscription, known.kept, plans);
  if (charged === null) return firstSaleUnknown;
  const { plan, waiting } = planAt(plans, at);
  const cents = charged.centsOf(plan);
  const steps = [{ at, items: itemsOf(membership, cents, plan?.months ?? recurrence) }];
  if (waiting !== null) {
    const { validFrom, after } = waiting;
    steps.push({ at: validFrom, items: itemsOf(membership, charged.centsOf(after), after.months) });
  }
  return [stateOf(membership, steps, { phase: "changed", country: charged.country })];
}

export function readEnd(membership: Membership): Reported {
  const { ended_at: at, ended_reason: reason = null, subscription_id: subscription } = membership;
  if (at === undefined) return rejected("malformed", "ended_at: missing");
  const why = endStanding(reason === null ? null : reason === "failed_payment");
  return [
    stateOf(membership, [{ at, items: [] }], { phase: "ended", country: null }),
    ...standingOf({ subscription, account: memberOf(membership) }, why, at),
  ];
}

const firstSaleUnknown = rejected(
  "enrichment_unavailable",
  "No sale of this membership has arrived, so its price in dollars is not known",
);

type Member = Pick<Membership, "subscription_id" | "product_id" | "user_id" | "user_email">;

function stateOf(
  member: Member,
  steps: SubscriptionFact["steps"],
  state: Pick<SubscriptionFact, "phase" | "country">,
): FactBody {
  const { subscription_id: subscription } = member;
  const account = memberOf(member);
  const currency = steps.some(({ items }) => items.length > 0) ? "USD" : "";
  return { Subscription: { subscription, account, currency, steps, ...state } };
}

function memberOf({ subscription_id: subscription, user_id, user_email }: Member): string {
  return accountOf(user_id, user_email) ?? subscription;
}

function inTrial({ free_trial_ends_at: end }: Membership, at: number): boolean {
  return end !== undefined && at < end;
}

/** The membership is its own only item, so its rate is held while its price is the same. */
function itemsOf(member: Member, cents: Fraction, months: bigint): Item[] {
  const { subscription_id: subscription, product_id: product } = member;
  return monthlyItem(subscription, product, cents, { interval: "month", intervalCount: months });
}

const instalments = (subscription: string): string => `instalments:${subscription}`;
