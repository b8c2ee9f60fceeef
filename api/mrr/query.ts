/** MRR and active subscribers by provider, as of two moments. */
import assert from "node:assert";
import { rowsIn } from "../../clickhouse/rows.js";
import { eachShard } from "../../clickhouse/cluster/shard-statements.js";
import { shouldBeSql } from "../../schemas/movements.js";
import type { AsOf } from "../reading/as-of.js";
import { isLateInMonth, nextInterval, startOfMonth } from "../reading/calendar.js";
import { exactMrr, mrrOf } from "../reading/amounts.js";
import { learnedAccountsSql } from "../reading/movements.js";
import {
  type Query,
  asOfParams,
  atSql,
  fromSql,
  knownAtSql,
  momentSql,
  projectionSettingSql,
  sumSettingsSql,
  tenantSql,
} from "../reading/query.js";

export interface MrrRow {
  readonly provider: string;
  /** decimal text, base currency */
  readonly mrr: string;
  /** active accounts */
  readonly accounts: string;
}

export interface MrrPairRow extends MrrRow {
  /** decimal text, base currency, as of the earlier moment */
  readonly previous: string;
}

/** What both moments are made of; see `mrrPairs`. */
export interface MrrPartRow extends MrrRow {
  readonly part: number;
  /** Of rows recorded after `known_at`: some of their accounts, up to `learnedAccountsMax` + 1. */
  readonly learned?: readonly string[];
}

/** As many accounts are listed in a statement; of more it looks for them by itself. */
export const learnedAccountsMax = 4_000;

/**
 * What is recorded as of `asOf.at`, and as of a moment before, in one statement, for `mrrPairs` to
 * add up: planning it is most of what a figure costs, so it has two parts, of which one is all
 * months and the other both stretches of rows, and no arithmetic. Under `known_at` a third part is
 * what was recorded later. It has to be of the same state of the table; what was recorded up to
 * `known_at` never changes, so all else may be read at another time.
 *
 * @param previousAt in an earlier month, or in the first half of one `asOf.at` is in the second of
 */
export function mrrPairQuery(asOf: AsOf, previousAt: number): Query {
  const [now, previous] = edgesOf(asOf.at, previousAt);
  const isKnownThen = asOf.knownAt !== null;
  const account = isKnownThen ? ", '' AS account" : "";
  const sums = [
    `SELECT provider, toStartOfMonth(at) <= ${daySql("previous_month")} AS part,
       sum(mrr) AS value, sum(accounts) AS active${account}
     FROM mrr_movements
     WHERE ${tenantSql} AND identity(toStartOfMonth(at)) <= ${daySql("month")}
     GROUP BY provider, part ${projectionSettingSql("by_month_and_sku")}`,
    // Inside `identity` as a whole: beside it the table's own marks were each held against the two.
    `SELECT provider, ${parts.previousRows} + (at >= ${fromSql}) AS part,
       mrr AS value, accounts AS active${account}
     FROM mrr_movements
     WHERE ${tenantSql} AND identity(${stretchSql("")} OR ${stretchSql("previous_")})`,
    // Few rows pass the first condition: other columns are read of these only.
    ...(isKnownThen
      ? [
          `SELECT provider, ${learnedPartSql} AS part, mrr AS value, accounts AS active, account
     FROM mrr_movements PREWHERE recorded_at > ${knownAtSql}
     WHERE ${tenantSql} AND identity(at) <= ${atSql}`,
        ]
      : []),
  ];
  const learned = `, groupUniqArray(${learnedAccountsMax + 1})(account) AS learned`;
  return {
    sql: `
SELECT provider, part, sum(value) AS mrr, sum(active) AS accounts${isKnownThen ? learned : ""}
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

/**
 * Accounts of which `known_at` may hide a change. One that only its country was learned of is among
 * them where that is dated before, and need not be: countries move nothing between providers.
 */
export function learnedAccountsQuery(asOf: AsOf): Query {
  const changes = learnedAccountsSql({ tables: ["subscription_changes"], countries: false });
  return {
    sql: `SELECT DISTINCT account FROM (${changes}) LIMIT ${learnedAccountsMax + 1}`,
    params: asOfParams(asOf),
  };
}

/**
 * What the sums of `mrrPairQuery` hold too much of accounts something was learned about: what was
 * recorded up to `known_at`, less what should have been of the changes known then. A sum over it in
 * the engine would take as long to plan as half of it.
 *
 * @param accounts null: more than can be listed
 */
export function learnedSinceThenQuery(
  asOf: AsOf,
  previousAt: number,
  accounts: readonly string[] | null,
): Query {
  const listed = accounts?.map((account) => [account]);
  const wanted =
    listed === undefined
      ? `account IN (${learnedAccountsSql({ countries: false })})`
      : rowsIn("account", listed);
  const known = `${tenantSql} AND recorded_at <= ${knownAtSql} AND ${wanted}`;
  const columns = `provider, ${learnedPartSql} AS part`;
  const rows = `SELECT ${columns}, mrr, accounts FROM mrr_movements
WHERE ${known} AND at <= ${atSql}
UNION ALL
SELECT ${columns}, -mrr AS mrr, -accounts AS accounts FROM (${shouldBeSql(known)})
WHERE at <= ${atSql}`;
  const summed = `SELECT provider, part, sum(r.mrr) AS mrr, sum(r.accounts) AS accounts
FROM ${eachShard(rows)} AS r GROUP BY provider, part`;
  return {
    sql: accounts === null ? summed : rows,
    params: { ...asOfParams(asOf), previous_at: previousAt },
  };
}

/** @returns by provider, in order */
export function mrrPairs(
  rows: readonly MrrPartRow[],
  at: number,
  previousAt: number,
): MrrPairRow[] {
  const [now, previous] = edgesOf(at, previousAt);
  const signs: Readonly<Record<number, { readonly now: bigint; readonly previous: bigint }>> = {
    [parts.laterMonths]: { now: 1n, previous: 0n },
    [parts.commonMonths]: { now: 1n, previous: 1n },
    [parts.previousRows]: { now: 0n, previous: previous.sign },
    [parts.rows]: { now: now.sign, previous: 0n },
    [parts.learned]: { now: -1n, previous: 0n },
    [parts.learnedBefore]: { now: -1n, previous: -1n },
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
 * Months that count as of the later moment only, or of both; each one's stretch of rows; and what
 * is to be taken off for `known_at` of the later moment only, or of both.
 */
const parts = {
  laterMonths: 0,
  commonMonths: 1,
  previousRows: 2,
  rows: 3,
  learned: 4,
  learnedBefore: 5,
} as const;
const learnedPartSql = `${parts.learned} + (at <= ${momentSql("previous_at")})`;

function edgesOf(at: number, previousAt: number): readonly [Edge, Edge] {
  const [now, previous] = [edgeOf(at), edgeOf(previousAt)];
  // Each row is in one of the two. January 1970 holds none.
  assert(previous.to <= now.from || now.from === 0, "one moment is too near to the other");
  return [now, previous];
}

type Edge = ReturnType<typeof edgeOf>;

/**
 * A moment as whole months and the rows of the nearer part of its month: those from its beginning
 * are added, or those to its end taken off. The engine's dates begin with 1970, of which January
 * holds nothing (`limits.eventEarliest`): it stands for the month before it, too.
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
