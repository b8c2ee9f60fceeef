/**
 * Paddle's payouts. Its API lists none: its events of the last 90 days report them, and the report
 * `payout_reconciliation` says what is in one. Sources: docs/providers/paddle.md, Payouts.
 */
import { z } from "zod";
import { type Ask, type Payout, type Payouts, PayoutUnread } from "../../payouts.js";
import { field } from "../event.js";
import { all } from "./object.js";
import { linesOf, readRows } from "./payout-lines.js";
import { isEarly, readyReport } from "./payout-report.js";

/** Ninety days have some dozens at most. */
const payoutEventsMax = 1_000;

const event = z.object({
  occurred_at: field.time,
  data: z.object({
    status: z.string(),
    amount: field.amount,
    currency_code: field.currency,
    // A number in older events.
    remittance_reference: z.union([field.id, z.int().transform((number) => `${number}`)]).nullish(),
  }),
});

const link = z.object({ data: z.object({ url: z.url() }) });

export const paddlePayouts: Payouts = {
  dated: "creation",
  notShown: [
    "Paddle reports payouts of the last 90 days only, and not when one reaches the bank.",
    "Amounts are without the tax that Paddle pays for you.",
  ],
  async *list({ from, to }, ask) {
    for (const payout of await reported(ask)) {
      if (payout.createdAt >= from && payout.createdAt <= to) yield payout;
    }
  },
  async open(id, ask, making) {
    const payout = (await reported(ask)).find((one) => one.id === id);
    if (payout === undefined) return null;
    const report = await readyReport(payout, ask, making);
    const found = await ask(`/reports/${encodeURIComponent(report.id)}/download-url`, link);
    const file = found && (await making.csv(found.data.url));
    if (file === null) throw new PayoutUnread("The file of Paddle's report is gone.", true);
    const rows = await readRows(file, report.rows);
    if (typeof rows === "string") {
      return { payout, lines: inOrder([]), problem: `Paddle's report cannot be read: ${rows}.` };
    }
    const lines = linesOf(rows, payout);
    const sum = lines.reduce((before, { amount, fee }) => before + amount - fee, 0n);
    const isShort = sum !== payout.amount && isEarly(report, payout);
    const problem = isShort ? "Paddle's reports may lack the last day. Open it again later." : null;
    return { payout, lines: inOrder(lines), problem };
  },
};

/** Newest first. An id is the reference on the remittance advice, by which a report is made. */
async function reported(ask: Ask): Promise<Payout[]> {
  const payouts = new Map<string, Payout>();
  let events = 0;
  const query = { event_type: "payout.created,payout.paid" };
  for await (const { occurred_at: createdAt, data } of all(ask, "/events", query, event)) {
    events += 1;
    if (events > payoutEventsMax) break;
    const { remittance_reference: id, status, amount, currency_code: currency } = data;
    if (!id) continue;
    const newest = payouts.get(id) ?? { id, status, currency, amount, arrivesAt: null };
    payouts.set(id, { ...newest, createdAt });
  }
  return [...payouts.values()].sort((one, other) => other.createdAt - one.createdAt);
}

async function* inOrder<T>(values: readonly T[]): AsyncIterable<T> {
  yield* values;
}
