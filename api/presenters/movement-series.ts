/** The bridge from one balance of MRR to the next, in numbers that add up as they are shown. */
import { knownExponentOf } from "../../schemas/currencies.js";
import { decimalText, powerOfTen } from "../../schemas/decimal.js";
import {
  type MovementKind,
  type MovementsAnswer,
  type MovementsRow,
  movementKinds,
} from "../../schemas/http-movements.js";
import { roundToMinor, toJsonNumber } from "../../schemas/money.js";
import { utcDay } from "../../schemas/rates.js";
import { type MovementSeriesRow, beforeAll } from "../queries/movement-series.js";
import type { Series, SeriesPart } from "../series.js";
import { mrrOf, mrrPlaces } from "./amounts.js";

/** @param hasAccounts whether the accounts of the rows are whole accounts */
export function presentMovements(
  rows: readonly MovementSeriesRow[],
  series: Series,
  currency: string,
  hasAccounts: boolean,
): MovementsAnswer["data"] {
  const byStart = new Map<string, MovementSeriesRow[]>();
  for (const row of rows) {
    const sameStart = byStart.get(row.start);
    if (sameStart) sameStart.push(row);
    else byStart.set(row.start, [row]);
  }
  const opening = sumsOf(byStart.get(beforeAll) ?? []);
  const show = (days: Days, start: Balance, moved: Sums) =>
    presentRow(days, start, moved, currency, hasAccounts);
  const movements: MovementsRow[] = [];
  let balance = balanceAfter({ mrr: 0n, accounts: 0 }, opening);
  const first = balance;
  for (const part of series.parts) {
    const moved = sumsOf(byStart.get(utcDay(part.start)) ?? []);
    movements.push(show(part, balance, moved));
    balance = balanceAfter(balance, moved);
  }
  const whole = sumsOf(rows.filter((row) => row.start !== beforeAll));
  return { currency, interval: series.interval, movements, totals: show(series, first, whole) };
}

type Days = Pick<SeriesPart, "from" | "to">;

/** MRR in millionths of the base currency. */
interface Balance {
  readonly mrr: bigint;
  readonly accounts: number;
}

type Sums = ReadonlyMap<MovementKind, Balance>;

function sumsOf(rows: readonly MovementSeriesRow[]): Sums {
  return new Map(
    movementKinds.map((kind) => {
      const mine = rows.filter((row) => row.kind === kind);
      const mrr = mine.reduce((sum, row) => sum + mrrOf(row.mrr), 0n);
      return [kind, { mrr, accounts: mine.reduce((sum, row) => sum + Number(row.accounts), 0) }];
    }),
  );
}

function balanceAfter(start: Balance, moved: Sums): Balance {
  const all = [start, ...moved.values()];
  return {
    mrr: all.reduce((sum, each) => sum + each.mrr, 0n),
    accounts: all.reduce((sum, each) => sum + each.accounts, 0),
  };
}

function presentRow(
  days: Days,
  start: Balance,
  moved: Sums,
  currency: string,
  hasAccounts: boolean,
): MovementsRow {
  const end = balanceAfter(start, moved);
  const exponent = knownExponentOf(currency);
  const minorOf = (mrr: bigint) =>
    roundToMinor(decimalText({ digits: mrr, scale: mrrPlaces }), exponent);
  const exact = movementKinds.map((kind) => moved.get(kind)?.mrr ?? 0n);
  const shown = apportioned(
    minorOf(end.mrr) - minorOf(start.mrr),
    exact,
    powerOfTen(mrrPlaces - exponent),
  );
  const money = (amount: bigint) => toJsonNumber(amount, exponent);
  const [fresh = 0n, expansion = 0n, contraction = 0n, churn = 0n, reactivation = 0n] = shown;
  const accounts = (kind: MovementKind) => moved.get(kind)?.accounts ?? 0;
  const orNull = (count: number) => (hasAccounts ? count : null);
  return {
    from: utcDay(days.from),
    to: utcDay(days.to),
    start_mrr: money(minorOf(start.mrr)),
    new_mrr: money(fresh),
    expansion_mrr: money(expansion),
    contraction_mrr: money(contraction),
    churn_mrr: money(churn),
    reactivation_mrr: money(reactivation),
    end_mrr: money(minorOf(end.mrr)),
    start_accounts: orNull(start.accounts),
    new_accounts: orNull(accounts("new")),
    // Not -0 where none did.
    churned_accounts: orNull(0 - accounts("churn")),
    reactivated_accounts: orNull(accounts("reactivation")),
    end_accounts: orNull(end.accounts),
  };
}

/**
 * `exact ÷ unit` as whole numbers with the sum `total`: each is rounded down, and what is missing
 * goes to those that lost most (the method of largest remainders). What is 0 stays 0, and none is
 * a whole unit off.
 */
function apportioned(total: bigint, exact: readonly bigint[], unit: bigint): bigint[] {
  const remainders = exact.map((value) => ((value % unit) + unit) % unit);
  const shares = exact.map((value, index) => (value - (remainders[index] ?? 0n)) / unit);
  let missing = shares.reduce((left, share) => left - share, total);
  const byLoss = remainders
    .map((remainder, index) => ({ remainder, index }))
    .filter(({ remainder }) => remainder > 0n)
    .sort((one, other) =>
      one.remainder === other.remainder ? 0 : one.remainder > other.remainder ? -1 : 1,
    );
  for (const { index } of byLoss) {
    if (missing <= 0n) break;
    shares[index] = (shares[index] ?? 0n) + 1n;
    missing -= 1n;
  }
  if (missing !== 0n) throw new Error("balances and movements of MRR do not belong together");
  return shares;
}
