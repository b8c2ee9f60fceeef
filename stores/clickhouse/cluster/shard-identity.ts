/**
 * What the servers of a cluster keep: which shard each of them is, and the `Distributed` tables.
 */
import assert from "node:assert";
import type { ClickHouseNode } from "../clickhouse.js";
import { type ClusterShard, refused } from "./layout.js";
import { durableSettings } from "../settings.js";
import { type ClusterNames, quoted, shardKeys } from "./shard-statements.js";
import { literal } from "../sql-text.js";

export interface ShardNode extends ClusterShard {
  readonly node: ClickHouseNode;
}

const placesTable = "shard_place";
const migrationsTable = "migrations";

/**
 * Rows lie where their keys said for this number and order of shards. With others, or with a new
 * server in the place of a lost one, new rows would lie apart from the old ones they belong to, and
 * figures would be wrong. So every server keeps its place. Places are recorded before migrations: a
 * server without one among migrated servers is a stranger; without any migrations, a start was cut
 * short.
 * @throws ConfigError before anything is changed
 */
export async function claimShardIdentities(
  shards: readonly ShardNode[],
  names: ClusterNames,
): Promise<void> {
  await refuseLoneTables(shards, names);
  const states = await Promise.all(
    shards.map(async (shard) => ({ ...shard, ...(await stateOf(shard.node, names)) })),
  );
  const weights = `[${shards.map(({ weight }) => weight).join(",")}]`;
  const isBegun = states.some(({ migrations }) => migrations > 0);
  for (const { number, url, place } of states) {
    const where = `shard ${number} of ${names.cluster} (${url.host})`;
    if (place === null && isBegun) {
      throw refused(`${where} has none of the tables the others have: ${mend}`);
    }
    if (place !== null && (place.shard !== number || place.weights !== weights)) {
      const was = `shard ${place.shard} of those with the weights ${place.weights}`;
      throw refused(`${where} holds the rows of ${was}, not of ${weights}: ${mend}`);
    }
  }
  for (const { node, number } of shards) {
    await node.write(
      `CREATE TABLE IF NOT EXISTS ${placesTable} (shard UInt32, weights Array(UInt32))
       ENGINE = MergeTree ORDER BY shard SETTINGS index_granularity = 8192${durableSettings}`,
    );
    await node.write(
      `INSERT INTO ${placesTable} SELECT ${number}, ${weights}
       WHERE (SELECT count() FROM ${placesTable}) = 0`,
    );
  }
}

/** Makes the `Distributed` tables on each server, or makes them again where they do not fit. */
export async function joinTables(
  shards: readonly ShardNode[],
  { cluster, database, shardDatabase }: ClusterNames,
): Promise<void> {
  for (const { node } of shards) {
    const [own, joined] = await Promise.all([
      tablesOf(node, shardDatabase),
      tablesOf(node, database),
    ]);
    for (const { name, columns } of own) {
      if (name === placesTable) continue;
      const all = joined.find((table) => table.name === name);
      if (all?.columns === columns) continue;
      const [here, there] = [database, shardDatabase].map((one) => `${quoted(one)}.${name}`);
      if (name === migrationsTable) {
        await node.write(`CREATE OR REPLACE VIEW ${here} AS SELECT * FROM ${there}`);
        continue;
      }
      const key = shardKeys[name];
      assert(key !== undefined, `which shard a row of ${name} belongs to is not said`);
      const place = [cluster, shardDatabase, name].map(literal).join(", ");
      await node.write(
        `CREATE OR REPLACE TABLE ${here} AS ${there} ENGINE = Distributed(${place}, ${key})`,
      );
    }
    for (const { name, engine_full: engine } of joined) {
      // People's own tables and views stay.
      if (!engine.startsWith("Distributed(") || !engine.includes(literal(shardDatabase))) continue;
      if (own.some((table) => table.name === name)) continue;
      await node.write(`DROP TABLE IF EXISTS ${quoted(database)}.${name}`);
    }
  }
}

interface PlaceRow {
  readonly shard: number;
  readonly weights: string;
}

async function stateOf(
  node: ClickHouseNode,
  { shardDatabase }: ClusterNames,
): Promise<{ readonly place: PlaceRow | null; readonly migrations: number }> {
  const names = (await tablesOf(node, shardDatabase)).map(({ name }) => name);
  const [place = null] = names.includes(placesTable)
    ? await node.rows<PlaceRow>(
        `SELECT shard, toString(weights) AS weights FROM ${placesTable} LIMIT 1`,
      )
    : [];
  const migrations = names.includes(migrationsTable)
    ? await node.rows(`SELECT number FROM ${migrationsTable} LIMIT 1`)
    : [];
  return { place, migrations: migrations.length };
}

/** A server that was used alone has tables where the `Distributed` tables would be. */
async function refuseLoneTables(
  shards: readonly ShardNode[],
  { database }: ClusterNames,
): Promise<void> {
  for (const { node, url } of shards) {
    const alone = (await tablesOf(node, database)).filter(({ engine }) => !joins.has(engine));
    if (alone.length === 0) continue;
    throw refused(
      `the database ${database} at ${url.host} holds the tables of a server by itself; give the ` +
        "cluster a database of its own and move into it (docs/operating.md, Moving)",
    );
  }
}

const joins: ReadonlySet<string> = new Set(["Distributed", "View"]);

interface Table {
  readonly name: string;
  readonly engine: string;
  /** With the arguments of the engine. */
  readonly engine_full: string;
  readonly columns: string;
}

function tablesOf(node: ClickHouseNode, database: string): Promise<Table[]> {
  return node.rows<Table>(
    `SELECT name, any(engine) AS engine, any(tables.engine_full) AS engine_full,
            toString(arraySort(groupArray((columns.position, columns.name, columns.type))))
              AS columns
     FROM system.tables
     LEFT JOIN (
       SELECT table, position, name, type FROM system.columns WHERE database = {database:String}
     ) AS columns ON columns.table = tables.name
     WHERE database = {database:String} GROUP BY name ORDER BY name`,
    { database },
  );
}

const mend =
  "put the servers back as they were, or make other databases and restore a backup or move there " +
  "(docs/operating.md, A ClickHouse cluster)";
