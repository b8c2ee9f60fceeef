/**
 * Paddle's payouts. Its API lists none: its events of the last 90 days report them, and the report
 * `payout_reconciliation` says what is in one. Sources: docs/providers/paddle.md, Payouts.
 */
import { z } from "zod";
import {
  type Ask,
  type Payout,
  type PayoutLine,
  type Payouts,
  PayoutUnread,
} from "../../payouts.js";
import { field } from "../event.js";
import { all } from "./object.js";
import { isEarly, readyReport } from "./payout-report.js";
import { knownExponentOf, majorToMinor } from "../../../schemas/money/money.js";

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

/** Turns the rows of Paddle's report `payout_reconciliation` into the lines of a payout. */
const movementColumn = "balance_movement_in_balance_currency";

type Row = ReadonlyMap<string, string>;

/**
 * @param expected how many Paddle says that it has; null: it does not say
 * @returns a text: why it cannot be read
 */
async function readRows(
  file: AsyncIterable<readonly string[]>,
  expected: number | null | undefined,
): Promise<readonly Row[] | string> {
  const rows: Row[] = [];
  let names: readonly string[] | null = null;
  try {
    for await (const cells of file) {
      if (names === null) names = cells;
      else rows.push(new Map(names.map((name, place) => [name, cells[place] ?? ""])));
    }
  } catch {
    return "it is no CSV";
  }
  if (names?.includes(movementColumn) !== true) return `it has no column ${movementColumn}`;
  if (expected !== undefined && expected !== null && rows.length !== expected) {
    return `it has ${rows.length} rows, and Paddle says ${expected}`;
  }
  const wrong = rows.findIndex((row) => majorToMinor(row.get(movementColumn) ?? "", 9) === null);
  return wrong === -1 ? rows : `row ${wrong + 1} has no amount`;
}

/** What is not among them is an adjustment. */
const kinds: ReadonlyMap<string, PayoutLine["kind"]> = new Map([
  ["sale", "payment"],
  ["refund", "refund"],
  ["chargeback", "dispute"],
  ["chargeback_reverse", "dispute"],
  ["chargeback_warning", "dispute"],
  ["chargeback_warning_reverse", "dispute"],
  ["swift_fee", "fee"],
]);

/** What was kept back of a movement. Paddle does not say which sign it writes. */
const feeColumns: ReadonlyMap<string, readonly string[]> = new Map([
  ["sale", ["paddle_fee_in_balance_currency", "fx_fee_in_balance_currency"]],
  ["refund", ["retained_fee_in_balance_currency"]],
  ["chargeback", ["chargeback_fee_in_balance_currency", "retained_fee_in_balance_currency"]],
]);

/** Of rows that were read. What is left of each is the movement, whichever fees it names. */
function linesOf(rows: readonly Row[], payout: Payout): PayoutLine[] {
  // The API has smallest units; the documentation does not say whether its files do.
  const isMajor = rows.some((row) => row.get(movementColumn)?.includes(".") === true);
  return rows.map((row, place) => {
    const what = row.get("balance_movement_type") ?? "";
    const currency = row.get("balance_currency") || payout.currency;
    const minor = (column: string): bigint =>
      majorToMinor(row.get(column) ?? "", isMajor ? knownExponentOf(currency) : 0) ?? 0n;
    const fees = (feeColumns.get(what) ?? []).map(minor);
    const fee = fees.reduce((sum, one) => sum + (one < 0n ? -one : one), 0n);
    const at = Date.parse(row.get("balance_movement_date") ?? "");
    return {
      id: `${place + 1}`,
      kind: kinds.get(what) ?? "adjustment",
      what,
      at: Number.isNaN(at) ? payout.createdAt : at,
      // An id says by its prefix what it is of.
      payment: [...row.values()].find((cell) => /^txn_\w+$/.test(cell)) ?? null,
      currency,
      amount: minor(movementColumn) + fee,
      fee,
    };
  });
}
