/** Figures over time by brute force (`definitions.md`, MRR, Ledger, Cohorts; `docs/metrics.md`). */
import { type Interval, daysOf, intervalsBetween } from "./calendar.js";
import { exponentOf } from "./facts.js";
import {
  type Fraction,
  fraction,
  isLess,
  plus,
  rounded,
  shown,
  sumOf,
  tenTo,
  times,
} from "./fraction.js";
import type { Entry } from "./money.js";
import { type Timeline, type Worth, stateAt } from "./mrr.js";
import { grouped, shownMicros, shownMinor, unitsOf } from "./compare/showing.js";

export const kinds = [
  "new",
  "expansion",
  "contraction",
  "churn",
  "reactivation",
  "switch",
] as const;
export type Kind = (typeof kinds)[number];

/** What is left out is not looked at. */
export interface Cell {
  readonly provider?: string | undefined;
  /** `provider/sku` of each. */
  readonly skus?: readonly string[] | undefined;
  readonly currency?: string | undefined;
  readonly country?: string | undefined;
}

/** What one account gained or lost at one moment. */
interface Movement {
  readonly kind: Kind;
  readonly at: number;
  /** Of the cell, in millionths. */
  readonly micros: bigint;
  /** 1 or -1 when the account begins or ends to count. */
  readonly accounts: number;
}

/** The movements of every account, in the order of time. */
function accountsOf(timelines: readonly Timeline[], cell: Cell): Movement[][] {
  // An account is of one provider: those of others have nothing to do with its cell.
  const ours = timelines.filter(({ provider }) => (cell.provider ?? provider) === provider);
  return [...grouped(ours, ({ account }) => account).values()].map((some) => {
    const moments = new Set(some.flatMap(({ states }) => states.map(({ at }) => at)));
    const movements: Movement[] = [];
    let before: readonly Part[] = [];
    let isKnown = false;
    for (const at of [...moments].sort((a, b) => a - b)) {
      const after = some.flatMap((timeline) =>
        stateAt(timeline, at).map((item) => {
          const { provider, subscription } = timeline;
          return { ...item, provider, subscription };
        }),
      );
      const [total, totalAfter] = [worthOf(before), worthOf(after)];
      const kind = kindOf(total, totalAfter, isKnown);
      const accounts = (totalAfter > 0n ? 1 : 0) - (total > 0n ? 1 : 0);
      const moved = changesOf(before, after).filter((change) => isIn(change.part, cell));
      const micros = sumOf(moved.map(({ rest }) => rest));
      const switched = sumOf(moved.map((change) => change.switched));
      if (micros !== 0n || accounts !== 0) movements.push({ kind, at, micros, accounts });
      if (switched !== 0n) movements.push({ kind: "switch", at, micros: switched, accounts: 0 });
      isKnown ||= totalAfter > 0n;
      before = after;
    }
    return movements;
  });
}

/** Of every account, each with its provider. */
export function movementsOf(timelines: readonly Timeline[]) {
  const providers = new Set(timelines.map(({ provider }) => provider));
  return [...providers].flatMap((provider) =>
    accountsOf(timelines, { provider })
      .flat()
      .map((movement) => ({ ...movement, provider })),
  );
}

/** Of these kinds, or of all, from a moment on and before another. */
function movedIn(
  movements: readonly Movement[],
  from: number,
  to: number,
  ...some: readonly Kind[]
): Pick<Movement, "micros" | "accounts"> {
  const moved = movements.filter(
    ({ at, kind }) => at >= from && at < to && (some.length === 0 || some.includes(kind)),
  );
  return {
    micros: sumOf(moved.map(({ micros }) => micros)),
    accounts: moved.reduce((sum, { accounts }) => sum + accounts, 0),
  };
}

type Part = Worth & Pick<Timeline, "provider" | "subscription">;

function worthOf(parts: readonly Part[]): bigint {
  return sumOf(parts.map(({ micros }) => micros));
}

/**
 * What each SKU, subscription and currency gains or loses: of gains G and losses L, min(G, L) is
 * switched, in proportion, rounded so that the millionths add up, the largest first.
 */
function changesOf(
  before: readonly Part[],
  after: readonly Part[],
): { readonly part: Part; readonly switched: bigint; readonly rest: bigint }[] {
  const nameOf = (part: Part) => [part.subscription, part.sku, part.currency].join(" ");
  const all = [...before.map((part) => ({ ...part, micros: -part.micros })), ...after];
  const changes = Array.from(grouped(all, nameOf), ([name, some]) => {
    return { name, part: some[0], micros: worthOf(some) };
  });
  const sizeOf = ({ micros }: { readonly micros: bigint }) => (micros < 0n ? -micros : micros);
  changes.sort((one, other) => {
    if (sizeOf(one) !== sizeOf(other)) return sizeOf(one) > sizeOf(other) ? -1 : 1;
    return one.name < other.name ? -1 : 1;
  });
  const gains = sumOf(changes.map(({ micros }) => (micros > 0n ? micros : 0n)));
  const losses = sumOf(changes.map(({ micros }) => (micros < 0n ? -micros : 0n)));
  const switched = gains < losses ? gains : losses;
  const passed = { up: 0n, down: 0n };
  return changes.flatMap(({ part, micros }) => {
    if (part === undefined || micros === 0n) return [];
    const [side, whole] = micros > 0n ? (["up", gains] as const) : (["down", losses] as const);
    const upTo = (sum: bigint) => (switched * sum) / whole;
    const given = upTo(passed[side]);
    passed[side] += sizeOf({ micros });
    const share = upTo(passed[side]) - given;
    const moved = micros > 0n ? share : -share;
    return [{ part, switched: moved, rest: micros - moved }];
  });
}

function kindOf(before: bigint, after: bigint, isKnown: boolean): Kind {
  if (before === 0n) return isKnown ? "reactivation" : "new";
  if (after === 0n) return "churn";
  return after >= before ? "expansion" : "contraction";
}

function isIn(
  item: Pick<Worth, "sku" | "currency" | "country"> & { readonly provider: string },
  cell: Cell,
): boolean {
  return (
    (cell.provider ?? item.provider) === item.provider &&
    (cell.skus?.includes(`${item.provider}/${item.sku}`) ?? true) &&
    (cell.currency ?? item.currency) === item.currency &&
    (cell.country ?? item.country) === item.country
  );
}

export interface BridgeRow {
  readonly days: string;
  readonly start: number;
  readonly moved: readonly number[];
  readonly end: number;
  /** At the beginning, new, lost, back, at the end; null for cells that cut accounts. */
  readonly accounts: readonly number[] | null;
}

/** The last row is the whole time. @param from, to 00:00 of days */
export function bridgeOf(
  timelines: readonly Timeline[],
  base: string,
  cell: Cell,
  time: { readonly from: number; readonly to: number; readonly interval: Interval },
  at: number,
): BridgeRow[] {
  const happened = accountsOf(timelines, cell)
    .flat()
    .filter((movement) => movement.at <= at);
  const cutsAccounts = [cell.skus, cell.currency, cell.country].some((one) => one !== undefined);
  const rowOf = ({ from, to }: { readonly from: number; readonly to: number }): BridgeRow => {
    const { micros: start, accounts } = movedIn(happened, -Infinity, from);
    const within = (...some: readonly Kind[]) => movedIn(happened, from, to, ...some);
    const moved = kinds.map((kind) => within(kind).micros);
    const [begun, lost] = [within("new").accounts, 0 - within("churn").accounts];
    const held = [accounts, begun, lost, within("reactivation").accounts];
    return {
      days: daysOf(from, to),
      start: shownMicros(start, base),
      moved: spread(start, moved, base),
      end: shownMicros(start + sumOf(moved), base),
      accounts: cutsAccounts ? null : [...held, accounts + within().accounts],
    };
  };
  return [...intervalsBetween(time.from, time.to, time.interval), time].map(rowOf);
}

/** Rounded so that the shown start and these make the shown end (largest remainders). */
function spread(start: bigint, moved: readonly bigint[], base: string): number[] {
  const places = exponentOf(base);
  const units = (micros: bigint) => times(unitsOf(micros), tenTo(places));
  const floors = moved.map((micros) => {
    const value = units(micros);
    const nearest = rounded(value);
    return isLess(value, fraction(nearest)) ? nearest - 1n : nearest;
  });
  const losses = moved.map((micros, index) =>
    plus(units(micros), fraction(-(floors[index] ?? 0n))),
  );
  const total = rounded(units(start + sumOf(moved))) - rounded(units(start));
  const order = kinds
    .map((_kind, index) => index)
    .sort((a, b) => {
      const [one = fraction(0n), other = fraction(0n)] = [losses[a], losses[b]];
      return isLess(one, other) ? 1 : isLess(other, one) ? -1 : a - b;
    });
  for (const index of order.slice(0, Number(total - sumOf(floors)))) {
    floors[index] = (floors[index] ?? 0n) + 1n;
  }
  return floors.map((floor) => shownMinor(floor, base));
}

export interface RevenueRow {
  readonly days: string;
  readonly group: string;
  readonly gross: number;
  readonly refunds: number;
  readonly disputes: number;
  readonly revenue: number;
  readonly tax: number;
  readonly net: number;
  readonly sales: number;
}

/** Only rows that hold anything; the last one is the whole time. */
export function revenueOf(
  entries: readonly Entry[],
  base: string,
  groupOf: (entry: Entry) => string,
  cell: Cell,
  time: { readonly from: number; readonly to: number; readonly interval: Interval },
  at: number,
): RevenueRow[] {
  const rowsOf = (
    { from, to }: { readonly from: number; readonly to: number },
    keyOf: (entry: Entry) => string,
  ) => {
    const within = entries.filter(
      (entry) => isIn(entry, cell) && entry.at >= from && entry.at < to && entry.at <= at,
    );
    return [...grouped(within, keyOf)].map(([group, some]): RevenueRow => {
      const sum = (kind: Entry["kind"]) =>
        sumOf(some.flatMap((entry) => (entry.kind === kind ? [entry.amount] : [])));
      const amount = sumOf(some.map((entry) => entry.amount));
      const tax = sumOf(some.map((entry) => entry.tax));
      return {
        days: daysOf(from, to),
        group,
        gross: shownMinor(sum("sale"), base),
        refunds: shownMinor(sum("refund"), base),
        disputes: shownMinor(sum("dispute"), base),
        revenue: shownMinor(amount, base),
        tax: shownMinor(tax, base),
        net: shownMinor(amount - tax - sumOf(some.map(({ fee = 0n }) => fee)), base),
        sales: some.reduce((count, entry) => count + entry.sales, 0),
      };
    });
  };
  return [
    ...intervalsBetween(time.from, time.to, time.interval).flatMap((days) => rowsOf(days, groupOf)),
    ...rowsOf(time, () => "whole"),
  ].filter(holdsAnything);
}

export function holdsAnything(row: RevenueRow): boolean {
  return [row.gross, row.refunds, row.disputes, row.tax, row.sales].some((value) => value !== 0);
}

export function summaryOf(
  timelines: readonly Timeline[],
  base: string,
  provider: string | undefined,
  at: number,
) {
  const since = at - 30 * 24 * 60 * 60 * 1000;
  const ours = timelines.filter(
    (timeline) => (provider ?? timeline.provider) === timeline.provider,
  );
  const all = accountsOf(ours, {}).flat();
  const { micros: mrr, accounts } = movedIn(all, -Infinity, at + 1);
  const { micros: mrrThen, accounts: countThen } = movedIn(all, -Infinity, since + 1);
  const recent = (...some: readonly Kind[]) => movedIn(all, since + 1, at + 1, ...some);
  const moved = (...some: readonly Kind[]) => recent(...some).micros;
  const percent = (part: bigint, whole: bigint) =>
    whole === 0n ? null : shown(fraction(part * 100n, whole), 2);
  const accountsThen = BigInt(countThen);
  const left = BigInt(-recent("churn").accounts);
  const lost = -moved("churn", "contraction");
  const money = (micros: bigint, parts: bigint) =>
    parts === 0n ? null : shown(times(unitsOf(micros), fraction(1n, parts)), exponentOf(base));
  return {
    mrr: shownMicros(mrr, base),
    arr: shownMicros(mrr * 12n, base),
    start_mrr: shownMicros(mrrThen, base),
    net_new_mrr: shownMinor(
      rounded(times(unitsOf(mrr), tenTo(exponentOf(base)))) -
        rounded(times(unitsOf(mrrThen), tenTo(exponentOf(base)))),
      base,
    ),
    active_subscribers: accounts,
    arpa: money(mrr, BigInt(accounts)),
    customer_churn_rate_pct: percent(left, accountsThen),
    gross_revenue_churn_rate_pct: percent(lost, mrrThen),
    net_revenue_churn_rate_pct: percent(lost - moved("expansion", "reactivation"), mrrThen),
    quick_ratio:
      lost === 0n ? null : shown(fraction(moved("new", "expansion", "reactivation"), lost), 2),
    ltv: accountsThen === 0n ? null : money(mrr * accountsThen, BigInt(accounts) * left),
  };
}

/**
 * Of the months that begin in the time, or of the one in which it ends, up to `at`; the first row
 * is all of them together.
 */
export function ratesOf(
  timelines: readonly Timeline[],
  base: string,
  cell: Cell,
  time: { readonly from: number; readonly to: number },
  at: number,
): Readonly<Record<string, unknown>>[] {
  const end = Math.min(at, time.to - 1);
  const accounts = accountsOf(timelines, cell);
  const cutsAccounts = [cell.skus, cell.currency, cell.country].some((one) => one !== undefined);
  const all = intervalsBetween(time.from, end + 1, "month");
  const begun = all.filter(({ start }) => start >= time.from);
  const months = (begun.length > 0 ? begun : all.slice(-1)).map(({ start }) => {
    const next = new Date(start).setUTCMonth(new Date(start).getUTCMonth() + 1);
    return { from: start, to: Math.min(next, end + 1), isWhole: next <= end + 1 };
  });
  const movements = accounts.flat();
  const within = (from: number, to: number, ...some: readonly Kind[]) =>
    movedIn(movements, from, to, ...some).micros;
  const worth = (to: number) => within(-Infinity, to);
  const active = (to: number) => movedIn(movements, -Infinity, to).accounts;
  const left = (from: number, to: number) =>
    accounts.filter((own) =>
      own.some((one) => one.kind === "churn" && one.at >= from && one.at < to),
    ).length;
  const over = (part: bigint, whole: bigint) => (whole > 0n ? fraction(part, whole) : null);
  const mean = (values: readonly (Fraction | null)[]) => {
    const known = values.filter((value) => value !== null);
    const sum = known.reduce(plus, fraction(0n));
    return known.length === 0 ? null : times(sum, fraction(1n, BigInt(known.length)));
  };
  const percentOf = (value: Fraction | null) => value && shown(times(value, fraction(100n)), 2);
  const churnOf = ({ from, to }: (typeof months)[number]) =>
    over(BigInt(left(from, to)), BigInt(active(from)));
  const lossOf = ({ from, to }: (typeof months)[number], ...back: readonly Kind[]) =>
    over(-within(from, to, "churn", "contraction", ...back), worth(from));
  const figuresOf = (some: readonly (typeof months)[number][]) => {
    const whole = some.filter(({ isWhole }) => isWhole);
    const meant = whole.length > 0 ? whole : some;
    const [from, to] = [some[0]?.from ?? 0, some.at(-1)?.to ?? 0];
    const lost = -within(from, to, "churn", "contraction");
    const gained = within(from, to, "new", "expansion", "reactivation");
    const churn = mean(meant.map(churnOf));
    const holders = BigInt(active(to));
    const arpa = holders > 0n ? times(unitsOf(worth(to)), fraction(1n, holders)) : null;
    const places = exponentOf(base);
    return {
      mrr_churn_rate_pct: percentOf(mean(meant.map((month) => lossOf(month)))),
      net_mrr_churn_rate_pct: percentOf(
        mean(meant.map((month) => lossOf(month, "expansion", "reactivation"))),
      ),
      quick_ratio: lost === 0n ? null : shown(fraction(gained, lost), 2),
      customer_churn_rate_pct: cutsAccounts ? null : percentOf(churn),
      arpa: cutsAccounts || arpa === null ? null : shown(arpa, places),
      ltv:
        cutsAccounts || arpa === null || churn === null || churn.n === 0n
          ? null
          : shown(times(arpa, fraction(churn.d, churn.n)), places),
    };
  };
  const counted = (count: number) => (cutsAccounts ? null : count);
  return [
    { whole_months: months.filter(({ isWhole }) => isWhole).length, ...figuresOf(months) },
    ...months.map((month) => ({
      month: new Date(month.from).toISOString().slice(0, 7),
      is_whole: month.isWhole,
      ...figuresOf([month]),
      start_mrr: shownMicros(worth(month.from), base),
      mrr: shownMicros(worth(month.to), base),
      start_subscribers: counted(active(month.from)),
      active_subscribers: counted(active(month.to)),
      churned_subscribers: counted(left(month.from, month.to)),
    })),
  ];
}

export interface RetentionRow {
  readonly vintage: string;
  readonly starting: number;
  readonly net: readonly number[];
  readonly gross: readonly number[];
  readonly accounts: readonly number[];
}

export function retentionOf(
  timelines: readonly Timeline[],
  base: string,
  cell: Cell,
  interval: "month" | "quarter" | "year",
  at: number,
): RetentionRow[] {
  const born = accountsOf(timelines, cell).flatMap((movements) => {
    const first = movements[0];
    if (first === undefined || first.at > at) return [];
    const worth = (time: number) => movedIn(movements, -Infinity, time + 1).micros;
    return [{ first: first.at, began: first.micros, worth }];
  });
  const end = at + 1;
  const firstOf = (time: number) => intervalsBetween(time, time + 1, interval)[0]?.start ?? time;
  return [...grouped(born, ({ first }) => String(firstOf(first)))]
    .sort(([a], [b]) => Number(a) - Number(b))
    .flatMap(([vintage, accounts]) => {
      const starting = sumOf(accounts.map(({ began }) => began));
      const beginners = accounts.filter(({ began }) => began > 0n).length;
      if (starting === 0n) return [];
      const curve = (
        of: (account: (typeof accounts)[number], time: number) => bigint,
        one: bigint,
      ) =>
        intervalsBetween(Number(vintage), end, interval).map(({ to }, index) =>
          index === 0
            ? 100
            : shown(fraction(sumOf(accounts.map((account) => of(account, to - 1))) * 100n, one), 1),
        );
      const kept = (began: bigint, now: bigint) => (now < began ? now : began);
      return [
        {
          vintage: new Date(Number(vintage)).toISOString().slice(0, 7),
          starting: shownMicros(starting, base),
          net: curve(({ worth }, time) => worth(time), starting),
          gross: curve(({ began, worth }, time) => kept(began, worth(time)), starting),
          accounts: curve(({ worth }, time) => (worth(time) > 0n ? 1n : 0n), BigInt(beginners)),
        },
      ];
    });
}
