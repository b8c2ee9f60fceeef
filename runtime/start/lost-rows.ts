/**
 * At start the stores prove that they belong together and have kept their contents: each holds
 * traces of the others. A lost store looks like a new one, and figures would lack what it held.
 */
import { join } from "node:path";
import type { Config } from "../../config.js";
import { topics } from "../../schemas/records/records.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { readRawEvent } from "../../stores/vault/vault.js";
import { isNotAllowed } from "../../stores/clickhouse/errors.js";
import { storeFolders } from "../../stores/data-folder.js";
import type { Log } from "../../stores/log/log.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { groups } from "../../stores/watermark/watermark.js";

/** Rows or records are missing, or belong to another installation; the message says what to do. */
export class RowsLost extends Error {
  override readonly name = "RowsLost";
}

interface Stores {
  readonly config: Pick<Config, "DATA_DIR" | "KAFKA_BROKERS" | "CLICKHOUSE_URL" | "DATABASE_URL">;
  readonly log: Log;
  readonly postgres: Postgres;
  /** Null: this process does not use it. */
  readonly clickhouse: ClickHouse | null;
  /** A replay is about to make missing rows again. */
  readonly replaying: boolean;
}

/** @throws RowsLost */
export async function refuseLostRows(stores: Stores): Promise<void> {
  const { clickhouse, replaying } = stores;
  // It appends and need not be allowed to read.
  if (clickhouse === null) return refuseEmptyLog(stores);
  await refuseForeignLog(stores);
  await refuseForeignTables(stores, clickhouse);
  await refuseShortLog(stores, clickhouse);
  await refuseEmptyLog(stores);
  await refuseBrokenParts(stores, clickhouse);
  if (!replaying) await refuseShortJournal(stores, clickhouse);
}

/** One record is enough: whoever else may write to the topic cannot know every workspace. */
async function refuseForeignLog({ config, log, postgres }: Stores): Promise<void> {
  const [ends, begins] = [await log.ends(topics.raw), await log.earliest(topics.raw)];
  const found = new Set<string>();
  for (const [partition, end] of ends.entries()) {
    const first = begins[partition] ?? 0n;
    if (first >= end) continue;
    const from = end - first > newestLooked ? end - newestLooked : first;
    const records = await log.read(topics.raw, partition, from, Number(newestLooked));
    for (const { value } of records) {
      const event = readRawEvent(value);
      if (event !== null) found.add(event.meta.workspace);
    }
  }
  await refuseForeign({ config, postgres }, `events in ${nameOfLog(config)}`, [...found]);
}

const newestLooked = 100n;

async function refuseForeignTables(
  { config, postgres }: Stores,
  clickhouse: ClickHouse,
): Promise<void> {
  const rows = await clickhouse.rows<{ workspace: string }>(
    "SELECT DISTINCT workspace FROM raw_events WHERE workspace != '' LIMIT 100000",
  );
  const workspaces = rows.map(({ workspace }) => workspace);
  await refuseForeign({ config, postgres }, `tables in ${nameOfTables(config)}`, workspaces);
}

async function refuseForeign(
  { config, postgres }: Pick<Stores, "config" | "postgres">,
  what: string,
  workspaces: readonly string[],
): Promise<void> {
  if (workspaces.length === 0) return;
  const known = "SELECT 1 FROM workspaces WHERE id = ANY ($1::text[]) LIMIT 1";
  if ((await postgres.query(known, [workspaces])).length > 0) return;
  throw new RowsLost(
    `The ${what} are of workspaces that ${nameOfPostgres(config)} does not know: they do not ` +
      `belong together. Correct the settings, or ${restoreAll}.`,
  );
}

/** What was journaled is on the log, or was until retention removed it: below its end. */
async function refuseShortLog({ config, log }: Stores, clickhouse: ClickHouse): Promise<void> {
  const rows = await clickhouse.rows<{ partition: number; newest: string }>(
    "SELECT partition, toString(max(offset)) AS newest FROM raw_events GROUP BY partition",
  );
  // After the rows: meanwhile others may append and journal.
  const ends = await log.ends(topics.raw);
  const short = rows.find(({ partition, newest }) => BigInt(newest) >= (ends[partition] ?? 0n));
  if (short === undefined) return;
  throw new RowsLost(
    `${nameOfLog(config)} lost events: partition ${short.partition} of ${topics.raw} ends at ` +
      `${ends[short.partition] ?? 0n}, and event ${short.newest} of it was booked. ` +
      `Put it back, or ${restoreAll}.`,
  );
}

/** Where tables and log are both new, the settings still show that events were taken. */
async function refuseEmptyLog({ config, log, postgres }: Stores): Promise<void> {
  const isEmpty = async () => (await log.ends(topics.raw)).every((end) => end === 0n);
  if (!(await isEmpty())) return;
  const taken = await postgres.query(
    `SELECT 1 FROM integration_calls WHERE verdict = 'taken'
     UNION ALL SELECT 1 FROM ingest_receipts WHERE durable LIMIT 1`,
  );
  // Meanwhile other processes may have taken their first event.
  if (taken.length === 0 || !(await isEmpty())) return;
  throw new RowsLost(
    `${nameOfLog(config)} is empty, and ${nameOfPostgres(config)} says that events were taken. ` +
      `Put the log back, or ${restoreAll}.`,
  );
}

/**
 * The engine sets aside what it cannot read, and goes on without. Nothing is missing where it still
 * has the parts a broken one was merged from, or another replica to fetch it from.
 */
async function refuseBrokenParts({ config }: Stores, clickhouse: ClickHouse): Promise<void> {
  for (const node of clickhouse.nodes) {
    const parts = await brokenParts(node);
    if (parts.length === 0) continue;
    throw new RowsLost(
      `${nameOfTables(config)} has broken parts, whose rows are missing in every figure ` +
        `(${parts.join(", ")}). ${makeTablesAgain(config)}`,
    );
  }
}

/** Empty where a server's user may not see them, a right needed for nothing else. */
async function brokenParts(node: ClickHouse["nodes"][number]): Promise<string[]> {
  try {
    const parts = await node.rows<{ part: string }>(
      `SELECT concat(table, ' ', name) AS part FROM system.detached_parts AS broken
       WHERE database = currentDatabase() AND reason LIKE 'broken%'
         AND table IN (SELECT name FROM system.tables
           WHERE database = currentDatabase() AND engine NOT LIKE 'Replicated%')
         AND (table, name) NOT IN (
           SELECT broken.table, broken.name FROM system.detached_parts AS broken
           INNER JOIN system.parts AS whole ON whole.database = broken.database
             AND whole.table = broken.table AND whole.partition_id = broken.partition_id
           WHERE whole.active AND broken.database = currentDatabase()
             AND whole.min_block_number >= broken.min_block_number
             AND whole.max_block_number <= broken.max_block_number)
       LIMIT 3`,
    );
    return parts.map(({ part }) => part);
  } catch (error) {
    if (isNotAllowed(error)) return [];
    throw error;
  }
}

/**
 * The journal has a row for each event its group has passed, except those that wait for their
 * provider's API, which lie on a topic of their own once they were normalized. Rows of events that
 * retention removed only add. A few rows may be missing without a loss: of events that were read
 * twice with other credentials, or that a replica has yet to fetch.
 */
async function refuseShortJournal({ config, log }: Stores, clickhouse: ClickHouse): Promise<void> {
  const journaled = await log.committed(topics.raw, groups.journal);
  const normalized = await log.committed(topics.raw, groups.normalize);
  const begins = await log.earliest(topics.raw);
  const completed = await log.committed(topics.incomplete, groups.complete);
  const incomplete = await log.ends(topics.incomplete);
  // Not below 0: a new topic ends before what its group has committed.
  const waiting = sum(incomplete.map((end, at) => larger(end - (completed[at] ?? 0n), 0n)));
  const passed = journaled.map((offset, at) => smaller(offset, normalized[at] ?? 0n));
  const kept = sum(passed.map((offset, at) => larger(offset - (begins[at] ?? 0n), 0n)));
  const [row] = await clickhouse.rows<{ n: string }>(
    "SELECT toString(count()) AS n FROM raw_events",
  );
  const found = BigInt(row?.n ?? "0");
  const missing = kept - waiting - found;
  if (missing <= 0n || (found > 0n && missing <= fewMissing + kept / 100n)) return;
  throw new RowsLost(
    `${nameOfTables(config)} lost rows: of ${kept} booked events it has ${found}. ` +
      makeTablesAgain(config),
  );
}

const fewMissing = 10n;

const sum = (numbers: readonly bigint[]): bigint => numbers.reduce((all, one) => all + one, 0n);
const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other);
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);

const restoreAll =
  "restore a backup into an empty installation (npm run ops -- restore --from <backup>)";

function makeTablesAgain(config: Stores["config"]): string {
  const away =
    config.CLICKHOUSE_URL === undefined
      ? `Move ${nameOfTables(config)} away`
      : "Drop that database";
  return (
    `${away}, then make all figures again from what was booked (npm run ops -- rebuild), and ` +
    "the lists of events and rejects from the log (npm run ops -- replay)."
  );
}

function nameOfLog({ DATA_DIR, KAFKA_BROKERS: brokers }: Stores["config"]): string {
  return brokers === undefined ? join(DATA_DIR, storeFolders.log) : `Kafka at ${brokers}`;
}

function nameOfTables({ DATA_DIR, CLICKHOUSE_URL: url }: Stores["config"]): string {
  return url === undefined
    ? join(DATA_DIR, storeFolders.clickhouse)
    : nameOfDatabase("ClickHouse", url);
}

function nameOfPostgres({ DATA_DIR, DATABASE_URL: url }: Stores["config"]): string {
  return url === undefined
    ? join(DATA_DIR, storeFolders.postgres)
    : nameOfDatabase("Postgres", url);
}

function nameOfDatabase(kind: string, url: string): string {
  const { host, pathname } = new URL(url);
  return `the ${kind} database at ${host}${pathname}`;
}
