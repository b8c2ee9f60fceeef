/** Turns the rows of Paddle's report `payout_reconciliation` into the lines of a payout. */
import { knownExponentOf } from "../../../schemas/money/currencies.js";
import { majorToMinor } from "../../../schemas/money/money.js";
import type { Payout, PayoutLine } from "../../payouts.js";

const movementColumn = "balance_movement_in_balance_currency";

type Row = ReadonlyMap<string, string>;

/**
 * @param expected how many Paddle says that it has; null: it does not say
 * @returns a text: why it cannot be read
 */
export async function readRows(
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
export function linesOf(rows: readonly Row[], payout: Payout): PayoutLine[] {
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
