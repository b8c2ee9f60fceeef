/**
 * Gumroad's payouts. One lists the same lines as its CSV in the dashboard: in US dollars, with what
 * is left of each after fees. Sources: antiwork/gumroad, Api::V2::PayoutsController,
 * Payment#as_json, Exports::Payouts::Base.
 */
import { z } from "zod";
import { utcDay } from "../../../schemas/money/rates.js";
import { majorToMinor } from "../../../schemas/money/money.js";
import { anyCaseCurrency } from "../../fields.js";
import type { Payout, PayoutLine, Payouts } from "../../payouts.js";

const dayMs = 24 * 60 * 60 * 1000;
const lineCurrency = "USD";

const payoutShape = z.object({
  id: z.string().min(1).max(255),
  // Hundredths, whatever the currency.
  amount: z.string().transform((text, context) => {
    const minor = majorToMinor(text, 2);
    if (minor === null) context.addIssue({ code: "custom", message: "no amount" });
    return minor ?? 0n;
  }),
  currency: anyCaseCurrency,
  status: z.string(),
  created_at: z.iso.datetime({ offset: true }),
});
type GumroadPayout = z.output<typeof payoutShape>;

const page = z.object({
  success: z.literal(true),
  payouts: z.array(payoutShape),
  next_page_key: z.string().nullish(),
});

/** Sums of whole cents, written as numbers of dollars; an empty text where there is none. */
const dollars = z
  .union([z.number().min(-1e12).max(1e12), z.literal("")])
  .transform((given) => (given === "" ? 0n : BigInt(Math.round(given * 100))));

const lineShape = z.object({
  type: z.string(),
  date: z.iso.date(),
  purchase_id: z.string().nullish(),
  gumroad_fees: dollars,
  net_total: dollars,
});
type Line = z.output<typeof lineShape>;

/** It answers 200 to what it does not have, too. */
const answer = z.discriminatedUnion("success", [
  z.object({
    success: z.literal(true),
    payout: payoutShape.extend({ transactions: z.array(lineShape) }),
  }),
  z.object({ success: z.literal(false) }),
]);

export const gumroadPayouts: Payouts = {
  dated: "creation",
  notShown: [
    "Gumroad does not say when a payout reaches the bank.",
    "What Gumroad itself cannot explain of a payout it lists as a technical adjustment.",
    "Sales paid by PayPal or Stripe Connect are listed with the payout, and taken off again.",
  ],
  async *list({ from, to }, ask) {
    // Whole days of UTC; the last is exclusive.
    const days = { after: utcDay(from), before: utcDay(to + dayMs) };
    let key: string | null | undefined;
    do {
      const query = new URLSearchParams({ ...days, include_upcoming: "false" });
      if (key) query.set("page_key", key);
      const found = await ask(`/v2/payouts?${query.toString()}`, page);
      for (const one of found?.payouts ?? []) yield payoutOf(one);
      key = found?.next_page_key;
    } while (key);
  },
  async open(id, ask) {
    const query = "include_sales=false&include_transactions=true";
    const found = await ask(`/v2/payouts/${encodeURIComponent(id)}?${query}`, answer);
    if (found?.success !== true) return null;
    const { payout: given } = found;
    const payout = payoutOf(given);
    const { currency } = payout;
    const problem =
      currency === lineCurrency
        ? null
        : `Gumroad paid it in ${currency} and lists what is in it in US dollars.`;
    return { payout, lines: linesOf(given.transactions), problem };
  },
};

function payoutOf({ id, status, currency, amount, created_at: created }: GumroadPayout): Payout {
  return { id, status, createdAt: Date.parse(created), arrivesAt: null, currency, amount };
}

/** What is not among them is an adjustment. */
const kinds: ReadonlyMap<string, PayoutLine["kind"]> = new Map([
  ["Sale", "payment"],
  ["Full Refund", "refund"],
  ["Partial Refund", "refund"],
  ["PayPal Refund", "refund"],
  ["Stripe Connect Refund", "refund"],
  ["Chargeback", "dispute"],
  ["Payout Fee", "fee"],
]);

/** By date, as Gumroad lists them; they have no ids of their own. */
async function* linesOf(lines: readonly Line[]): AsyncIterable<PayoutLine> {
  for (const [place, line] of lines.entries()) {
    const { type: what, date, purchase_id: sale, gumroad_fees: fee, net_total: net } = line;
    yield {
      id: `${place + 1}`,
      kind: kinds.get(what) ?? "adjustment",
      what,
      at: Date.parse(date),
      payment: sale || null,
      currency: lineCurrency,
      amount: net + fee,
      fee,
    };
  }
}
