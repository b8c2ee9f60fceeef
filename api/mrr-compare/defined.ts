/**
 * MRR and its movements by the definition of another tool (of cohorts: `../cohorts/defined.ts`).
 * Sums of recorded movements know only ours, so every account is read at the ends of the intervals:
 * what goes up and down within one is netted.
 */
import { limits } from "../../config.js";
import { type DefinitionName, definitions } from "../../schemas/definitions/index.js";
import { mrrBy } from "../../schemas/definitions/definition.js";
import { malformed, unprocessable } from "../../schemas/http/errors.js";
import { exactMrr } from "../../schemas/money/monthly.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { MovementKind } from "../../schemas/records/records.js";
import type { Service } from "../../service.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { type MovementSeriesRow, beforeAll } from "../movement-series/query.js";
import type { MrrPairRow } from "../mrr/query.js";
import type { AsOf, Clocks } from "../reading/as-of.js";
import type { CellQuery } from "../reading/metric-filters.js";
import { growthThen } from "../reading/calendar.js";
import type { Series } from "../reading/series.js";
import type { AccountsCompared } from "./query.js";
import { readAccounts } from "./reading.js";

export interface Defined {
  readonly service: Pick<Service, "clickhouse" | "rates">;
  readonly name: DefinitionName;
  readonly currency: string;
  readonly clocks: Clocks;
  /** Default: all. */
  readonly provider?: readonly string[] | undefined;
  readonly accounts?: CellQuery["accounts"];
}

/** @returns null for ours, which sums of movements have */
export function otherThanOurs(name: DefinitionName | undefined): DefinitionName | null {
  return name === undefined || name === "ours" ? null : name;
}

/**
 * @param query what was asked for besides the definition
 * @throws ApiError 400 for parameters that need sums of recorded movements
 */
export function checkDefined(query: CellQuery & { readonly group_by?: unknown }): void {
  const parts = ["product", "currency", "country", "vintage", "plan_interval", "group_by"] as const;
  const part = parts.find((name) => query[name] !== undefined);
  if (part === undefined) return;
  throw malformed(
    "parameter_invalid",
    `Another definition is of whole accounts: ${part} cannot be asked for with it.`,
    part,
  );
}

/**
 * As `mrrPairs` has them: by provider, as of a moment and a month before.
 * @throws ApiError 422 when there are more changes than one call may read
 */
export async function definedMrr(defined: Defined, asOf: AsOf): Promise<MrrPairRow[]> {
  const moments = [Math.max(0, growthThen(asOf.at)), asOf.at];
  const sums = new Map<string, { mrr: bigint; accounts: number; previous: bigint }>();
  await eachAccount(defined, asOf, moments, ({ provider, mrr: [previous = 0n, mrr = 0n] }) => {
    const sum = sums.get(provider) ?? { mrr: 0n, accounts: 0, previous: 0n };
    sums.set(provider, {
      mrr: sum.mrr + mrr,
      accounts: sum.accounts + (mrr > 0n ? 1 : 0),
      previous: sum.previous + previous,
    });
  });
  return [...sums].map(([provider, sum]) => ({
    provider,
    mrr: exactMrr(sum.mrr),
    accounts: String(sum.accounts),
    previous: exactMrr(sum.previous),
  }));
}

/**
 * As rows of `movementSeriesQuery`.
 * @throws ApiError 422 when there are more changes than one call may read
 */
export async function definedMovements(
  defined: Defined,
  { from, parts, asOf }: Series,
): Promise<MovementSeriesRow[]> {
  checkIntervals(parts.length);
  const before = Math.max(0, from - 1);
  const moments = [before, ...parts.map(({ to }) => Math.min(to - 1, asOf.at))];
  const sums = new Map<string, { start: string; kind: MovementKind; mrr: bigint; net: number }>();
  const add = (start: string, kind: MovementKind, mrr: bigint, net: number) => {
    const sum = sums.get(`${start} ${kind}`) ?? { start, kind, mrr: 0n, net: 0 };
    sums.set(`${start} ${kind}`, { start, kind, mrr: sum.mrr + mrr, net: sum.net + net });
  };
  await eachAccount(defined, asOf, moments, ({ began, mrr: [first = 0n, ...ends] }) => {
    if (first !== 0n) add(beforeAll, "new", first, 1);
    let hasCounted = first !== 0n || (began !== "" && began <= clickhouseTime(before));
    let last = first;
    for (const [index, end] of ends.entries()) {
      const kind = kindOf(last, end, hasCounted);
      if (kind !== null) {
        const net = Number(end !== 0n) - Number(last !== 0n);
        add(utcDay(parts[index]?.start ?? from), kind, end - last, net);
      }
      hasCounted ||= end !== 0n;
      last = end;
    }
  });
  return Array.from(sums.values(), ({ start, kind, mrr, net }) => ({
    start,
    kind,
    mrr: exactMrr(mrr),
    accounts: String(net),
  }));
}

/** @throws ApiError 422 */
export function checkIntervals(count: number): void {
  const { definedIntervalsMax: intervalsMax } = limits;
  if (count <= intervalsMax) return;
  throw unprocessable(
    "series_too_long",
    `By another definition no more than ${intervalsMax} intervals are answered at once: ask for ` +
      "longer ones, or from a later day on.",
    "interval",
  );
}

function kindOf(before: bigint, after: bigint, hasCounted: boolean): MovementKind | null {
  if (before === after) return null;
  if (before === 0n) return hasCounted ? "reactivation" : "new";
  if (after === 0n) return "churn";
  return after > before ? "expansion" : "contraction";
}

interface AccountMrr {
  readonly provider: string;
  /** When it first had MRR by our definition, as ClickHouse writes it; empty: never. */
  readonly began: string;
  /** At each moment, in millionths of the base currency. */
  readonly mrr: readonly bigint[];
}

/** Every account that ever had a subscription, at some moments. */
export async function eachAccount(
  { service, name, currency, clocks, provider, accounts }: Defined,
  asOf: AsOf,
  moments: readonly number[],
  take: (account: AccountMrr) => void,
): Promise<void> {
  const definition = definitions[name];
  // Pinned, because accounts are read in slices.
  const pinned = { ...asOf, knownAt: asOf.knownAt ?? clocks.completeTo };
  const of: AccountsCompared = { asOf: pinned, provider, accounts };
  await readAccounts(service, definition, of, moments, currency, (read) => {
    take({
      provider: read.provider,
      began: read.readings.at(-1)?.account.began ?? "",
      mrr: read.readings.map((reading) => mrrBy(definition, reading)),
    });
  });
}
