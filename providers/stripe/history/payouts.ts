/**
 * Stripe's payouts. A payout holds the balance transactions that are listed under it, beside the
 * one that is the payout itself. Sources: docs.stripe.com/payouts/reconciliation,
 * docs.stripe.com/reports/reporting-categories, docs.stripe.com/api/balance_transactions/list.
 */
import { z } from "zod";
import type { Ask, Payout, PayoutLine, Payouts } from "../../payouts.js";
import { field, isoMinor, seconds } from "../event.js";

const pageObjects = "100";

const payoutShape = z.object({
  id: field.id,
  amount: field.amount,
  currency: field.currency,
  status: z.string(),
  created: field.time,
  arrival_date: field.time,
  automatic: z.boolean(),
  reconciliation_status: z.string().nullish(),
});
type StripePayout = z.output<typeof payoutShape>;

/** What moved the money. */
const sourceShape = z.object({
  id: field.id,
  object: z.string().nullish(),
  payment_intent: field.reference,
  charge: field.reference,
});

const lineShape = z.object({
  id: field.id,
  amount: field.amount,
  fee: field.amount,
  currency: field.currency,
  created: field.time,
  reporting_category: z.string(),
  source: z.union([field.id, sourceShape]).nullish(),
});
type Line = z.output<typeof lineShape>;

export const stripePayouts: Payouts = {
  dated: "arrival",
  notShown: [
    "Stripe does not say what is in a payout that was made by hand.",
    "Payouts of connected accounts are not listed.",
  ],
  async *list({ from, to }, ask) {
    const between = { "arrival_date[gte]": seconds(from), "arrival_date[lte]": seconds(to) };
    for await (const one of all(ask, "/v1/payouts", between, payoutShape)) yield payoutOf(one);
  },
  async open(id, ask) {
    const found = await ask(`/v1/payouts/${encodeURIComponent(id)}`, payoutShape);
    if (found === null) return null;
    // Of one made by hand Stripe answers 400.
    const lines = found.automatic ? linesOf(found, ask) : noLines();
    return { payout: payoutOf(found), lines, problem: problemOf(found) };
  },
};

function problemOf({ automatic, reconciliation_status: status }: StripePayout): string | null {
  if (!automatic) return "Stripe does not say what is in a payout that was made by hand.";
  return status === "in_progress" ? "Stripe is still listing what is in it." : null;
}

function payoutOf({ id, status, created, arrival_date: arrivesAt, ...of }: StripePayout): Payout {
  const { currency } = of;
  const amount = isoMinor(of.amount, currency);
  return { id, status, createdAt: created, arrivesAt, currency, amount };
}

async function* linesOf({ id }: StripePayout, ask: Ask): AsyncIterable<PayoutLine> {
  const query = { payout: id, "expand[]": "data.source" };
  for await (const line of all(ask, "/v1/balance_transactions", query, lineShape)) {
    const isPayoutItself = line.reporting_category === "payout" && sourceOf(line)?.id === id;
    if (!isPayoutItself) yield lineOf(line);
  }
}

async function* noLines(): AsyncIterable<PayoutLine> {}

/** What is not among them is an adjustment. */
const kinds: ReadonlyMap<string, PayoutLine["kind"]> = new Map([
  ["charge", "payment"],
  ["charge_failure", "payment"],
  ["partial_capture_reversal", "refund"],
  ["refund", "refund"],
  ["refund_failure", "refund"],
  ["dispute", "dispute"],
  ["dispute_reversal", "dispute"],
  ["fee", "fee"],
  ["network_cost", "fee"],
]);

function lineOf(line: Line): PayoutLine {
  const { id, currency, reporting_category: what, created: at } = line;
  return {
    id,
    kind: kinds.get(what) ?? "adjustment",
    what,
    at,
    payment: paymentOf(line),
    currency,
    amount: isoMinor(line.amount, currency),
    fee: isoMinor(line.fee, currency),
  };
}

function paymentOf(line: Line): string | null {
  const source = sourceOf(line);
  const { object, payment_intent: intent, charge, id } = source ?? {};
  if (object === "charge") return intent ?? id ?? null;
  return object === "refund" || object === "dispute" ? (intent ?? charge ?? null) : null;
}

function sourceOf({ source }: Line): z.output<typeof sourceShape> | null {
  if (typeof source !== "string") return source ?? null;
  return { id: source, object: null, payment_intent: null, charge: null };
}

/** Of a list, page by page, newest first. */
async function* all<Row extends { readonly id: string }>(
  ask: Ask,
  path: string,
  query: Readonly<Record<string, string>>,
  row: z.ZodType<Row>,
): AsyncIterable<Row> {
  const page = z.object({ object: z.literal("list"), data: z.array(row), has_more: z.boolean() });
  let after: string | undefined;
  do {
    const more = after === undefined ? {} : { starting_after: after };
    const asked = new URLSearchParams({ limit: pageObjects, ...query, ...more });
    const found = await ask(`${path}?${asked.toString()}`, page);
    if (found === null) return;
    yield* found.data;
    after = found.has_more ? found.data.at(-1)?.id : undefined;
  } while (after !== undefined);
}
