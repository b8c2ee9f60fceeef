/** The movements from one balance of MRR to the next, rounded so that they add up. */
import { limits } from "../../config.js";
import { grouped } from "../../runtime/lists.js";
import { knownExponentOf, powerOfTen, toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import { apportioned, mrrMinor } from "../reading/amounts.js";
import { mrrPlaces } from "../../schemas/money/monthly.js";
import type { Groups } from "../reading/groups.js";
import type { Cell } from "../reading/metric-filters.js";
import {
  type Balance,
  type Sums,
  amountsByKind,
  balanceAfter,
  balanceOf,
  sumsByStart,
  sumsOf,
} from "../reading/movement-sums.js";
import { type Series, type SeriesPart, tooLong } from "../reading/series.js";
import { type MovementSeriesRow, beforeAll } from "./query.js";
import { type MovementKind, movementKinds } from "../../schemas/records/records.js";
import type { MovementsAnswer, MovementsRow } from "./schema.js";

export function presentMovements(
  rows: readonly MovementSeriesRow[],
  series: Series,
  { hasWholeAccounts }: Pick<Cell, "hasWholeAccounts">,
  groups: Groups | undefined,
  currency: string,
): MovementsAnswer["data"] {
  const whole = bridgeOf(rows, series, currency, hasWholeAccounts);
  const shown = presentBridge(whole, series, currency);
  const before = sumsOf(rows.filter(({ start }) => start === beforeAll));
  const within = sumsOf(rows.filter(({ start }) => start !== beforeAll));
  const totals = figuresOf(balanceOf(before), within, currency, hasWholeAccounts);
  return {
    currency,
    interval: series.interval,
    ...(groups === undefined
      ? { movements: shown }
      : {
          ...presentGroups(rows, series, hasWholeAccounts, groups, whole, currency),
          ungrouped: shown,
        }),
    totals: presentRow(series, totals, currency),
  };
}

/** Oldest first, then in the order of the groups, without groups that have nothing. */
function presentGroups(
  rows: readonly MovementSeriesRow[],
  series: Series,
  hasWholeAccounts: boolean,
  groups: Groups,
  whole: readonly Figures[],
  currency: string,
): Pick<MovementsAnswer["data"], "movements" | "others"> {
  if (groups.shown.size * series.parts.length > limits.seriesRowsMax) {
    throw tooLong(series.interval, "rows");
  }
  const hasAccounts = hasWholeAccounts && (groups.by === "provider" || groups.by === "kind");
  const byPlace = grouped(rows, ({ place }) => place);
  const bridges = [...groups.shown].map(([place, fields]) => ({
    fields,
    bridge: bridgeOf(byPlace.get(place) ?? [], series, currency, hasAccounts),
  }));
  // From shown figures, so that all of them add up to the whole.
  const others = whole.map((all, index) =>
    bridges.reduce((left, { bridge }) => minus(left, bridge[index]), all),
  );
  return {
    movements: series.parts.flatMap((part, index) =>
      bridges.flatMap(({ bridge, fields }) => {
        const figures = bridge[index];
        if (figures === undefined || isEmpty(figures)) return [];
        return [{ ...presentRow(part, figures, currency), ...fields }];
      }),
    ),
    others: {
      count: groups.others,
      rows: presentBridge(others, series, currency, isEmpty),
    },
  };
}

/**
 * Rows without a group.
 * @param isLeftOut of what has nothing
 */
function presentBridge(
  bridge: readonly Figures[],
  { parts }: Series,
  currency: string,
  isLeftOut: (figures: Figures) => boolean = () => false,
): MovementsRow[] {
  return parts.flatMap((part, index) => {
    const figures = bridge[index];
    return figures === undefined || isLeftOut(figures) ? [] : [presentRow(part, figures, currency)];
  });
}

/** Of one interval: minor units, and numbers of accounts where they are counted. */
interface Figures {
  readonly mrr: Readonly<Record<AmountName, bigint>>;
  readonly accounts: Readonly<Record<CountName, number>> | null;
}

type AmountName = Extract<keyof MovementsRow, `${string}_mrr`>;
type CountName = Extract<keyof MovementsRow, `${string}_accounts`>;

function amountsBy<Value>(valueOf: (name: AmountName) => Value): Record<AmountName, Value> {
  return {
    start_mrr: valueOf("start_mrr"),
    new_mrr: valueOf("new_mrr"),
    expansion_mrr: valueOf("expansion_mrr"),
    contraction_mrr: valueOf("contraction_mrr"),
    churn_mrr: valueOf("churn_mrr"),
    reactivation_mrr: valueOf("reactivation_mrr"),
    switch_mrr: valueOf("switch_mrr"),
    end_mrr: valueOf("end_mrr"),
  };
}

function countsBy<Value>(valueOf: (name: CountName) => Value): Record<CountName, Value> {
  return {
    start_accounts: valueOf("start_accounts"),
    new_accounts: valueOf("new_accounts"),
    churned_accounts: valueOf("churned_accounts"),
    reactivated_accounts: valueOf("reactivated_accounts"),
    end_accounts: valueOf("end_accounts"),
  };
}

/** @param less without accounts, where they are not counted in groups */
function minus(all: Figures, less: Figures | undefined): Figures {
  if (less === undefined) return all;
  const { accounts } = less;
  return {
    mrr: amountsBy((name) => all.mrr[name] - less.mrr[name]),
    accounts:
      all.accounts && accounts && countsBy((name) => (all.accounts?.[name] ?? 0) - accounts[name]),
  };
}

function isEmpty({ mrr, accounts }: Figures): boolean {
  return (
    Object.values(mrr).every((amount) => amount === 0n) &&
    Object.values(accounts ?? {}).every((count) => count === 0)
  );
}

/** Each interval begins with the balance that the one before ended with. */
function bridgeOf(
  rows: readonly MovementSeriesRow[],
  series: Series,
  currency: string,
  hasAccounts: boolean,
): Figures[] {
  const sumsOfStart = sumsByStart(rows);
  let balance = balanceOf(sumsOfStart(beforeAll));
  return series.parts.map((part) => {
    const start = balance;
    const moved = sumsOfStart(utcDay(part.start));
    balance = balanceAfter(start, moved);
    return figuresOf(start, moved, currency, hasAccounts);
  });
}

function figuresOf(start: Balance, moved: Sums, currency: string, hasAccounts: boolean): Figures {
  const end = balanceAfter(start, moved);
  const exponent = knownExponentOf(currency);
  const [startMinor, endMinor] = [mrrMinor(start.mrr, currency), mrrMinor(end.mrr, currency)];
  const exact = movementKinds.map((kind) => moved.get(kind)?.mrr ?? 0n);
  const shown = apportioned(endMinor - startMinor, exact, powerOfTen(mrrPlaces - exponent));
  const accounts = (kind: MovementKind) => moved.get(kind)?.accounts ?? 0;
  return {
    mrr: {
      start_mrr: startMinor,
      ...amountsByKind(shown, (amount) => amount),
      end_mrr: endMinor,
    },
    accounts: hasAccounts
      ? {
          start_accounts: start.accounts,
          new_accounts: accounts("new"),
          // Not -0 where none did.
          churned_accounts: 0 - accounts("churn"),
          reactivated_accounts: accounts("reactivation"),
          end_accounts: end.accounts,
        }
      : null,
  };
}

function presentRow(
  days: Pick<SeriesPart, "from" | "to">,
  { mrr, accounts }: Figures,
  currency: string,
): MovementsRow {
  const exponent = knownExponentOf(currency);
  return {
    from: utcDay(days.from),
    to: utcDay(days.to),
    ...amountsBy((name) => toJsonNumber(mrr[name], exponent)),
    ...countsBy((name) => accounts?.[name] ?? null),
  };
}
