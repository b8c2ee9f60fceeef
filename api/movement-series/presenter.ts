/** The bridge from one balance of MRR to the next, in numbers that add up as they are shown. */
import type { Catalogue } from "../../catalogue/view.js";
import { limits } from "../../config.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { decimalText, powerOfTen } from "../../schemas/money/decimal.js";
import {
  type MovementGroup,
  type MovementKind,
  type MovementsAnswer,
  type MovementsRow,
  movementKinds,
} from "./schema.js";
import type { GroupFields } from "../../schemas/http/series.js";
import { roundToMinor, toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { Cell } from "../reading/metric-filters.js";
import { groupFields, groupKey } from "../reading/groups.js";
import {
  type Balance,
  type Sums,
  balanceAfter,
  kindOf,
  nothing,
  rowsByStart,
  sumsOf,
} from "../reading/movement-sums.js";
import { type MovementSeriesRow, beforeAll } from "./query.js";
import { type Series, type SeriesPart, tooLong } from "../reading/series.js";
import { mrrPlaces } from "../reading/amounts.js";

export function presentMovements(
  rows: readonly MovementSeriesRow[],
  series: Series,
  cell: Pick<Cell, "hasWholeAccounts">,
  group: MovementGroup | undefined,
  catalogue: Catalogue,
  currency: string,
): MovementsAnswer["data"] {
  const wholeAccounts = [undefined, "provider", "kind"];
  const show: Show = (days, start, moved, isGroup) =>
    presentRow(days, start, moved, currency, {
      hasAccounts: cell.hasWholeAccounts && (!isGroup || wholeAccounts.includes(group)),
    });
  const groups = groupsOf(rows, group, catalogue);
  if (groups.length * series.parts.length > limits.seriesRowsMax) throw tooLong("rows");
  const bridges = groups.map(({ fields, rows: mine }) =>
    bridgeOf(mine, series, group !== undefined, show).map((row) => ({ ...row, fields })),
  );
  const movements = series.parts.flatMap((_part, index) =>
    bridges.flatMap((bridge) => {
      const found = bridge[index];
      return found === undefined || (group !== undefined && found.isEmpty)
        ? []
        : [{ ...found.shown, ...found.fields }];
    }),
  );
  const before = rows.filter((row) => row.start === beforeAll);
  const first = balanceAfter(nothing, sumsOf(before));
  const whole = sumsOf(rows.filter((row) => row.start !== beforeAll));
  return {
    currency,
    interval: series.interval,
    movements,
    ...(group === undefined
      ? {}
      : { ungrouped: bridgeOf(rows, series, false, show).map(({ shown }) => shown) }),
    totals: show(series, first, whole, false),
  };
}

type Show = (days: Days, start: Balance, moved: Sums, isGroup: boolean) => MovementsRow;

type Fields = GroupFields & { readonly kind?: MovementKind };

/** In the order of their keys; the whole is one group. */
function groupsOf(
  rows: readonly MovementSeriesRow[],
  group: MovementGroup | undefined,
  catalogue: Catalogue,
) {
  if (group === undefined) return [{ fields: {}, rows }];
  const groups = new Map<string, { fields: Fields; rows: MovementSeriesRow[] }>();
  for (const row of rows) {
    const fields: Fields =
      group === "kind" ? { kind: kindOf(row) } : groupFields(row, group, catalogue);
    const known = groups.get(groupKey(fields));
    if (known) known.rows.push(row);
    else groups.set(groupKey(fields), { fields, rows: [row] });
  }
  return [...groups.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, found]) => found);
}

/** A row for each interval, each from the balance the one before ended with. */
function bridgeOf(
  rows: readonly MovementSeriesRow[],
  series: Series,
  isGroup: boolean,
  show: Show,
): { readonly shown: MovementsRow; readonly isEmpty: boolean }[] {
  const byStart = rowsByStart(rows);
  let balance = balanceAfter(nothing, sumsOf(byStart.get(beforeAll) ?? []));
  return series.parts.map((part) => {
    const start = balance;
    const moved = sumsOf(byStart.get(utcDay(part.start)) ?? []);
    balance = balanceAfter(start, moved);
    const isEmpty = [start, ...moved.values()].every(({ mrr, accounts }) => {
      return mrr === 0n && accounts === 0;
    });
    return { shown: show(part, start, moved, isGroup), isEmpty };
  });
}

type Days = Pick<SeriesPart, "from" | "to">;

function presentRow(
  days: Days,
  start: Balance,
  moved: Sums,
  currency: string,
  { hasAccounts }: { readonly hasAccounts: boolean },
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
