/** MRR and active subscribers by provider, as of two moments. */
import assert from "node:assert";
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "../reading/as-of.js";
import { growthThen, isLateInMonth, nextInterval } from "../reading/calendar.js";
import { startOfMonth } from "../../schemas/months.js";
import { exactMrr, mrrOf } from "../../schemas/money/monthly.js";
import {
  asOfParams,
  atSql,
  fromSql,
  knownAtSql,
  momentSql,
  projectionSettingSql,
  type Query,
  sumSettingsSql,
  tenantSql,
} from "../reading/query.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { rowsOf } from "../reading/reading.js";

export interface MrrRow {
  readonly provider: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

export interface MrrPairRow extends MrrRow {
  /** decimal text, base currency, as of the earlier moment */
  readonly previous: string;
}

/** What both moments consist of; see `mrrPairs`. */
interface MrrPartRow extends MrrRow {
  readonly part: number;
}

/**
 * What is recorded as of `asOf.at`, and as of a moment before, in one statement, for `mrrPairs` to
 * add up. Planning is most of what a figure costs, so it has only two parts (all months, and both
 * stretches of rows) and no arithmetic. Under `known_at` a third part has what was recorded later,
 * to be subtracted.
 * @param previousAt in an earlier month, or in the first half of one `asOf.at` is in the second of
 */
export function mrrPairQuery(asOf: AsOf, previousAt: number): Query {
  const [now, previous] = edgesOf(asOf.at, previousAt);
  const sums = [
    `SELECT provider, toStartOfMonth(at) <= ${daySql("previous_month")} AS part,
       sum(mrr) AS value, sum(accounts) AS active
     FROM mrr_movements
     WHERE ${tenantSql} AND identity(toStartOfMonth(at)) <= ${daySql("month")}
     GROUP BY provider, part ${projectionSettingSql("by_month_and_sku")}`,
    // Inside `identity` as a whole, or each of the table's marks would be compared with the two.
    `SELECT provider, ${parts.previousRows} + (at >= ${fromSql}) AS part,
       mrr AS value, accounts AS active
     FROM mrr_movements
     WHERE ${tenantSql} AND identity(${stretchSql("")} OR ${stretchSql("previous_")})`,
    // Few rows pass the first condition, and other columns are read only for these.
    ...(asOf.knownAt !== null
      ? [
          `SELECT provider, ${laterPartSql} AS part, mrr AS value, accounts AS active
     FROM mrr_movements PREWHERE recorded_at > ${knownAtSql}
     WHERE ${tenantSql} AND identity(at) <= ${atSql}`,
        ]
      : []),
  ];
  return {
    sql: `
SELECT provider, part, sum(value) AS mrr, sum(active) AS accounts
FROM ${eachShard(sums.join("\nUNION ALL\n"))}
GROUP BY provider, part
${sumSettingsSql}, optimize_move_to_prewhere = 0`,
    params: {
      ...asOfParams(asOf),
      previous_at: previousAt,
      month: now.lastMonth,
      from: now.from,
      to: now.to,
      previous_month: previous.lastMonth,
      previous_from: previous.from,
      previous_to: previous.to,
    },
  };
}

/** @returns by provider, in order */
function mrrPairs(rows: readonly MrrPartRow[], at: number, previousAt: number): MrrPairRow[] {
  const [now, previous] = edgesOf(at, previousAt);
  const signs: Readonly<Record<number, { readonly now: bigint; readonly previous: bigint }>> = {
    [parts.laterMonths]: { now: 1n, previous: 0n },
    [parts.commonMonths]: { now: 1n, previous: 1n },
    [parts.previousRows]: { now: 0n, previous: previous.sign },
    [parts.rows]: { now: now.sign, previous: 0n },
    [parts.later]: { now: -1n, previous: 0n },
    [parts.laterBefore]: { now: -1n, previous: -1n },
  };
  const sums = new Map<string, { mrr: bigint; accounts: bigint; previous: bigint }>();
  for (const { provider, part, mrr, accounts } of rows) {
    const sign = signs[part];
    assert(sign !== undefined, `the sums have no part ${part}`);
    const sum = sums.get(provider) ?? { mrr: 0n, accounts: 0n, previous: 0n };
    sums.set(provider, {
      mrr: sum.mrr + sign.now * mrrOf(mrr),
      accounts: sum.accounts + sign.now * BigInt(accounts),
      previous: sum.previous + sign.previous * mrrOf(mrr),
    });
  }
  return [...sums.entries()]
    .map(([provider, sum]) => ({
      provider,
      mrr: exactMrr(sum.mrr),
      accounts: String(sum.accounts),
      previous: exactMrr(sum.previous),
    }))
    .sort((one, other) => (one.provider < other.provider ? -1 : 1));
}

/**
 * Months that count as of the later moment only, or of both; the stretch of rows of each; and what
 * to subtract for `known_at` of the later moment only, or of both.
 */
const parts = {
  laterMonths: 0,
  commonMonths: 1,
  previousRows: 2,
  rows: 3,
  later: 4,
  laterBefore: 5,
} as const;
const laterPartSql = `${parts.later} + (at <= ${momentSql("previous_at")})`;

function edgesOf(at: number, previousAt: number): readonly [Edge, Edge] {
  const [now, previous] = [edgeOf(at), edgeOf(previousAt)];
  // Each row is in one of the two. January 1970 has none.
  assert(previous.to <= now.from || now.from === 0, "one moment is too near to the other");
  return [now, previous];
}

type Edge = ReturnType<typeof edgeOf>;

/**
 * A moment as whole months and the rows of the nearer part of its month: those from its beginning
 * are added, or those to its end subtracted. The engine's dates begin with 1970, whose January is
 * empty (`limits.eventEarliest`): it stands for the month before it, too.
 */
function edgeOf(at: number) {
  const month = startOfMonth(at);
  return isLateInMonth(at)
    ? { sign: -1n, lastMonth: month, from: at + 1, to: nextInterval("month", month) }
    : { sign: 1n, lastMonth: Math.max(0, startOfMonth(month - 1)), from: month, to: at + 1 };
}

function stretchSql(prefix: "" | "previous_"): string {
  return `(at >= ${momentSql(`${prefix}from`)} AND at < ${momentSql(`${prefix}to`)})`;
}

function daySql(name: string): string {
  return `toDate(${momentSql(name)})`;
}

export async function readMrr(
  clickhouse: Pick<ClickHouse, "rows">,
  asOf: AsOf,
): Promise<MrrPairRow[]> {
  const previousAt = Math.max(0, growthThen(asOf.at));
  const rows = await rowsOf<MrrPartRow>({ clickhouse }, mrrPairQuery(asOf, previousAt));
  return mrrPairs(rows, asOf.at, previousAt);
}
