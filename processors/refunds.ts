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
  /** A cumulative reading of what `witness` keeps. */
  readonly total: bigint | null;
  readonly witness: string;
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
  const kept = new Map<string, bigint>();
  let before = 0n;
  for (const { single: added, total: reading, witness, ...step } of told) {
    single += added;
    if (added < 0n) {
      // A failure after the last reading is not in it yet.
      for (const [name, total] of kept) kept.set(name, total + added);
    }
    if (reading !== null) kept.set(witness, reading);
    const after = [single, ...kept.values()].reduce(
      (most, each) => (each > most ? each : most),
      0n,
    );
    if (after !== before) steps.push({ ...step, before, after });
    before = after;
  }
  return steps;
}

/**
 * Where a provider dates a refund by the event that shows it (Paddle), later events repeat it with
 * a later date: the earliest counts. One that failed by then never moved anything.
 */
function singles(facts: readonly Fact[]): Told[] {
  const seen = new Set<string>();
  return newestFirst(facts).flatMap((fact) => {
    if (!("Refund" in fact.body) || !fact.quote) return [];
    const { refund, amount, currency, lines, country } = fact.body.Refund;
    if (seen.has(refund)) return [];
    seen.add(refund);
    const { at, quote } = earliest(facts, refund) ?? { at: fact.body.Refund.at, quote: fact.quote };
    const failedAt = firstFailure(facts, refund);
    if (failedAt !== null && failedAt <= at) return [];
    const made = {
      entry: `refund:${refund}`,
      at,
      currency,
      quote,
      lines,
      country,
      single: amount,
      total: null,
      witness: "",
    };
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

/** Of readings with one date the first received: what is converted stays converted. */
function earliest(facts: readonly Fact[], refund: string): { at: number; quote: Quote } | null {
  let found: { at: number; quote: Quote } | null = null;
  for (const { body, quote } of facts) {
    if (!("Refund" in body) || body.Refund.refund !== refund || !quote) continue;
    if (found === null || body.Refund.at < found.at) found = { at: body.Refund.at, quote };
  }
  return found;
}

function totals(facts: readonly Fact[]): Told[] {
  return facts.flatMap((fact) => {
    if (!("RefundTotal" in fact.body) || !fact.quote) return [];
    const { at, amount, currency, witness = "" } = fact.body.RefundTotal;
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
        witness,
      },
    ];
  });
}
