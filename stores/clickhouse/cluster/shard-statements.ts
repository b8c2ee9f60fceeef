/**
 * How statements are written for a cluster. Each server (a shard) has a database with the migrated
 * tables, and one beside it with `Distributed` tables of the same names over all shards.
 *
 * - A read is asked of one server, in the second database: a table's name means all its rows.
 *   Each shard answers what is inside `eachShard` from its own rows.
 * - A write is a statement for each shard, in the first database: a table's name means the shard's
 *   rows, `allShards(name)` those of all. Each shard takes its own rows of an INSERT.
 *
 * On one server all of these mean the same.
 */
import assert from "node:assert";
import { type Share, tabSeparatedTable } from "../rows.js";
import type { RowsBatch } from "../clickhouse.js";
import { dataMark, literal, replaceInCode } from "../sql-text.js";

/**
 * What decides a row's shard: account for changes and movements, payment (as the ledger names it)
 * for money, so that what is compared or joined lies together.
 */
export const shardKeys: Readonly<Record<string, string>> = {
  raw_events: "cityHash64(event_id)",
  rejects: "cityHash64(event_id)",
  // 'payment:<id>' or 'purchase:<id>'
  money_facts: "cityHash64(concat(provider, substring(key, position(key, ':'))))",
  transactions: "cityHash64(concat(provider, ':', payment))",
  ledger: "cityHash64(payment)",
  subscription_changes: "cityHash64(account)",
  mrr_movements: "cityHash64(account)",
  unidentified_sides: "cityHash64(pool)",
  catalogue_skus: "cityHash64(external_id)",
};

/**
 * A shard takes rows whose hash, modulo the sum of all weights, is in this range; the end is
 * exclusive.
 */
export interface Slots {
  readonly from: number;
  readonly to: number;
  readonly total: number;
}

/**
 * As `Distributed` tables divide rows.
 * @param shards in order
 */
export function slotsOf<Shard extends { readonly weight: number }>(
  shards: readonly Shard[],
): { readonly shard: Shard; readonly slots: Slots }[] {
  const total = shards.reduce((sum, { weight }) => sum + weight, 0);
  let to = 0;
  return shards.map((shard) => {
    const from = to;
    to += shard.weight;
    return { shard, slots: { from, to, total } };
  });
}

const begin = "(/* each shard */ ";
const end = " /* of them */)";
const allMark = "/* all shards */ ";

/**
 * A table expression: this SELECT on each shard, over that shard's rows. Only here do the parts of
 * a sum see one state of a table, and is a subquery (`IN`) answered by the same shard.
 */
export function eachShard(select: string): string {
  return `${begin}${select}${end}`;
}

/** A table of which a write looks at all rows. */
export function allShards(table: keyof typeof shardKeys): string {
  return `${allMark}${table}`;
}

export interface ClusterNames {
  readonly cluster: string;
  /** The database with the `Distributed` tables, and the one with a shard's tables. */
  readonly database: string;
  readonly shardDatabase: string;
}

/** A read, as one server of the cluster is asked. */
export function clusterRead(sql: string, { cluster, shardDatabase }: ClusterNames): string {
  if (!sql.includes(begin)) return sql;
  let isInside = false;
  return replaceInCode(sql, readMarks, ([text, word = "", space = "", table = ""]) => {
    if (text === begin || text === end) {
      assert(isInside === (text === end), "a shard cannot ask each shard");
      isInside = !isInside;
      return isInside ? `cluster(${literal(cluster)}, view(` : "))";
    }
    // The other shards know the database only by its name.
    return isInside ? `${word}${space}${quoted(shardDatabase)}.${table}` : text;
  });
}

/** A write as one shard runs it: an INSERT into a divided table takes only the shard's rows. */
export function shardWrite(sql: string, slots: Slots, { database }: ClusterNames): string {
  const own = sql.includes(allMark)
    ? replaceInCode(sql, allPattern, () => `${quoted(database)}.`)
    : sql;
  const [insert, table = ""] = /^\s*INSERT INTO (\w+)(?:\s*\([^)]*\))?\s+/.exec(own) ?? [];
  const key = shardKeys[table];
  if (insert === undefined || key === undefined) return own;
  const select = own.slice(insert.length);
  assert(/^SELECT\b/.test(select), `rows for ${table} come by INSERT … SELECT`);
  return `${insert}SELECT * FROM (\n${select}\n) WHERE ${inSlots(key, slots)}`;
}

/** The rows of a batch that a shard takes. As data they cost it half of what a literal costs. */
export function shareOf({ table, structure, rows }: RowsBatch, slots: Slots): Share {
  const key = shardKeys[table];
  assert(key !== undefined, `which shard a row of ${table} belongs to is not said`);
  const ofShard = `WHERE ${inSlots(key, slots)}`;
  return {
    source: `SELECT * FROM input(${literal(structure)}) ${ofShard} ${dataMark}${rows}`,
    sample: `(SELECT * FROM ${tabSeparatedTable(structure, rows)} ${ofShard} LIMIT 1)`,
  };
}

function inSlots(key: string, { from, to, total }: Slots): string {
  return `${key} % ${total} >= ${from} AND ${key} % ${total} < ${to}`;
}

export function quoted(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

const tables = Object.keys(shardKeys).join("|");
const readMarks = new RegExp(
  `${escaped(begin)}|${escaped(end)}|\\b(FROM|JOIN)(\\s+)(${tables})\\b`,
);
const allPattern = new RegExp(escaped(allMark));

function escaped(text: string): string {
  return text.replace(/[*()/]/g, "\\$&");
}
