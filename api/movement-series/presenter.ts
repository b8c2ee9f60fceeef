/** The bridge from one balance of MRR to the next, in numbers that add up as they are shown. */
import type { Catalogue } from "../../catalogue/view.js";
import { limits } from "../../config.js";
import { grouped } from "../../runtime/grouped.js";
import type { GroupFields } from "../../schemas/http/series.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { powerOfTen } from "../../schemas/money/decimal.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import { apportioned, mrrMinor } from "../reading/amounts.js";
import { mrrPlaces } from "../../schemas/money/monthly.js";
import { groupFields, groupKey } from "../reading/groups.js";
import type { Cell } from "../reading/metric-filters.js";
import {
  type Balance,
  type Sums,
  balanceAfter,
  balanceOf,
  kindOf,
  sumsByStart,
  sumsOf,
} from "../reading/movement-sums.js";
import { type Series, type SeriesPart, tooLong } from "../reading/series.js";
import { type MovementSeriesRow, beforeAll } from "./query.js";
import {
  type MovementGroup,
  type MovementKind,
  type MovementsAnswer,
  type MovementsRow,
  movementKinds,
} from "./schema.js";

export function presentMovements(
  rows: readonly MovementSeriesRow[],
  series: Series,
  { hasWholeAccounts }: Pick<Cell, "hasWholeAccounts">,
  group: MovementGroup | undefined,
  catalogue: Catalogue,
  currency: string,
): MovementsAnswer["data"] {
  const whole = bridgeOf(rows, series, currency, hasWholeAccounts).map(({ shown }) => shown);
  const before = sumsOf(rows.filter(({ start }) => start === beforeAll));
  const within = sumsOf(rows.filter(({ start }) => start !== beforeAll));
  return {
    currency,
    interval: series.interval,
    ...(group === undefined
      ? { movements: whole }
      : {
          movements: groupRows(rows, series, hasWholeAccounts, group, catalogue, currency),
          ungrouped: whole,
        }),
    totals: presentRow(series, balanceOf(before), within, currency, hasWholeAccounts),
  };
}

/** Oldest first, then in the order of their keys; none of a group that has nothing. */
function groupRows(
  rows: readonly MovementSeriesRow[],
  series: Series,
  hasWholeAccounts: boolean,
  group: MovementGroup,
  catalogue: Catalogue,
  currency: string,
): MovementsRow[] {
  const hasAccounts = hasWholeAccounts && (group === "provider" || group === "kind");
  const placed = rows.map((row) => ({ row, fields: fieldsOf(row, group, catalogue) }));
  const groups = [...grouped(placed, ({ fields }) => groupKey(fields))]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, some]) => some);
  if (groups.length * series.parts.length > limits.seriesRowsMax) throw tooLong("rows");
  const bridges = groups.map((some) =>
    bridgeOf(
      some.map(({ row }) => row),
      series,
      currency,
      hasAccounts,
    ).map((place) => ({ ...place, fields: some[0]?.fields })),
  );
  return series.parts.flatMap((_part, index) =>
    bridges.flatMap((bridge) => {
      const place = bridge[index];
      return place === undefined || place.isEmpty ? [] : [{ ...place.shown, ...place.fields }];
    }),
  );
}

function fieldsOf(
  row: MovementSeriesRow,
  group: MovementGroup,
  catalogue: Catalogue,
): GroupFields & { readonly kind?: MovementKind } {
  return group === "kind" ? { kind: kindOf(row) } : groupFields(row, group, catalogue);
}

/** A row for each interval, each from the balance the one before ended with. */
function bridgeOf(
  rows: readonly MovementSeriesRow[],
  series: Series,
  currency: string,
  hasAccounts: boolean,
): { readonly shown: MovementsRow; readonly isEmpty: boolean }[] {
  const sumsOfStart = sumsByStart(rows);
  let balance = balanceOf(sumsOfStart(beforeAll));
  return series.parts.map((part) => {
    const start = balance;
    const moved = sumsOfStart(utcDay(part.start));
    balance = balanceAfter(start, moved);
    const isEmpty = [start, ...moved.values()].every(({ mrr, accounts }) => {
      return mrr === 0n && accounts === 0;
    });
    return { shown: presentRow(part, start, moved, currency, hasAccounts), isEmpty };
  });
}

function presentRow(
  days: Pick<SeriesPart, "from" | "to">,
  start: Balance,
  moved: Sums,
  currency: string,
  hasAccounts: boolean,
): MovementsRow {
  const end = balanceAfter(start, moved);
  const exponent = knownExponentOf(currency);
  const [startMinor, endMinor] = [mrrMinor(start.mrr, currency), mrrMinor(end.mrr, currency)];
  const exact = movementKinds.map((kind) => moved.get(kind)?.mrr ?? 0n);
  const shown = apportioned(endMinor - startMinor, exact, powerOfTen(mrrPlaces - exponent));
  const money = (amount: bigint) => toJsonNumber(amount, exponent);
  const [fresh = 0n, expansion = 0n, contraction = 0n, churn = 0n] = shown;
  const [reactivation = 0n, switched = 0n] = shown.slice(4);
  const accounts = (kind: MovementKind) => moved.get(kind)?.accounts ?? 0;
  const orNull = (count: number) => (hasAccounts ? count : null);
  return {
    from: utcDay(days.from),
    to: utcDay(days.to),
    start_mrr: money(startMinor),
    new_mrr: money(fresh),
    expansion_mrr: money(expansion),
    contraction_mrr: money(contraction),
    churn_mrr: money(churn),
    reactivation_mrr: money(reactivation),
    switch_mrr: money(switched),
    end_mrr: money(endMinor),
    start_accounts: orNull(start.accounts),
    new_accounts: orNull(accounts("new")),
    // Not -0 where none did.
    churned_accounts: orNull(0 - accounts("churn")),
    reactivated_accounts: orNull(accounts("reactivation")),
    end_accounts: orNull(end.accounts),
  };
}
