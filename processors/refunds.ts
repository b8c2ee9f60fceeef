/**
 * What was refunded of a payment, as steps in time. Two kinds of facts tell it: single refunds
 * (which may fail) and cumulative readings of the charge. At any moment the truth is the greater
 * of the two, so that neither is missed and nothing counts twice.
 */
import type { Fact, Line, Quote } from "../schemas/records.js";
import { newestFirst } from "./readings.js";

/** The refunded total of one currency goes from `before` to `after` at `at`; minor units. */
export interface RefundStep {
  readonly entry: string;
  readonly at: number;
  readonly currency: string;
  readonly before: bigint;
  readonly after: bigint;
  /** Of the fact that made the step, for when the sale's rate does not apply. */
  readonly quote: Quote;
  /** Empty: spread like the sale. */
  readonly lines: readonly Line[];
  readonly country: string | null;
}

interface Told {
  readonly entry: string;
  readonly at: number;
  readonly currency: string;
  readonly quote: Quote;
  readonly lines: readonly Line[];
  readonly country: string | null;
  /** Added to the sum of single refunds; negative when one failed. */
  readonly single: bigint;
  /** A cumulative reading. */
  readonly total: bigint | null;
}

export function refundSteps(facts: readonly Fact[]): RefundStep[] {
  const told = [...singles(facts), ...totals(facts)].sort(
    (one, other) => one.at - other.at || (one.entry < other.entry ? -1 : 1),
  );
  const currencies = [...new Set(told.map(({ currency }) => currency))];
  return currencies.flatMap((currency) =>
    stepsOf(told.filter((each) => each.currency === currency)),
  );
}

/** Minor units of `currency` refunded in the end. */
export function refundedTotal(facts: readonly Fact[], currency: string): bigint {
  return refundSteps(facts).findLast((step) => step.currency === currency)?.after ?? 0n;
}

function stepsOf(told: readonly Told[]): RefundStep[] {
  const steps: RefundStep[] = [];
  let single = 0n;
  let total = 0n;
  let before = 0n;
  for (const { single: added, total: reading, ...step } of told) {
    single += added;
    // A failure after the last reading is not in it yet.
    if (added < 0n) total += added;
    if (reading !== null) total = reading;
    const after = [single, total, 0n].reduce((most, each) => (each > most ? each : most));
    if (after !== before) steps.push({ ...step, before, after });
    before = after;
  }
  return steps;
}

function singles(facts: readonly Fact[]): Told[] {
  const seen = new Set<string>();
  return newestFirst(facts).flatMap((fact) => {
    if (!("Refund" in fact.body) || !fact.quote) return [];
    const { refund, at, amount, currency, lines, country } = fact.body.Refund;
    if (seen.has(refund)) return [];
    seen.add(refund);
    const made = {
      entry: `refund:${refund}`,
      at,
      currency,
      quote: firstQuote(facts, refund) ?? fact.quote,
      lines,
      country,
      single: amount,
      total: null,
    };
    const failedAt = firstFailure(facts, refund);
    if (failedAt === null) return [made];
    return [made, { ...made, entry: `refund_failed:${refund}`, at: failedAt, single: -amount }];
  });
}

/** Later updates of a failed refund repeat the failure with a time of their own. */
function firstFailure(facts: readonly Fact[], refund: string): number | null {
  const times = facts.flatMap(({ body }) =>
    "Refund" in body && body.Refund.refund === refund ? (body.Refund.failed_at ?? []) : [],
  );
  return times.length === 0 ? null : Math.min(...times);
}

/** The rate of the first reading stays: converted once and for good. */
function firstQuote(facts: readonly Fact[], refund: string): Quote | null {
  const first = facts.find(({ body }) => "Refund" in body && body.Refund.refund === refund);
  return first?.quote ?? null;
}

function totals(facts: readonly Fact[]): Told[] {
  return facts.flatMap((fact) => {
    if (!("RefundTotal" in fact.body) || !fact.quote) return [];
    const { at, amount, currency } = fact.body.RefundTotal;
    return [
      {
        // After a single refund of the same moment: "refund_total" sorts behind "refund:".
        entry: `refund_total:${at}:${fact.event_id}`,
        at,
        currency,
        quote: fact.quote,
        lines: [],
        country: null,
        single: 0n,
        total: amount,
      },
    ];
  });
}
