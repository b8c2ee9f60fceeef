/**
 * Numbered plain SQL files, forward only: each runs once, in order, and is recorded with its
 * checksum in the table `migrations` of its own database. The first file is a baseline: it stands
 * for the migrations up to its number, which a database of an earlier version has run instead.
 */
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouse, ClickHouseNode } from "./clickhouse/clickhouse.js";
import { isNotAllowed } from "./clickhouse/errors.js";
import { durableSettings } from "./clickhouse/settings.js";
import type { Logger } from "../runtime/logger.js";
import type { Postgres, Sql } from "./postgres/postgres.js";
import { projectFile } from "../runtime/project-root.js";

/** The database does not fit this program; the message says what to do. */
export class MigrationRefused extends Error {
  override readonly name = "MigrationRefused";
}

export interface Migration {
  readonly number: number;
  /** The file's name, `0001_metadata.sql`. */
  readonly name: string;
  readonly checksum: string;
  readonly statements: readonly string[];
  /** Of a baseline: the checksum that the last migration it stands for had. */
  readonly replaced?: string;
}

type Applied = Pick<Migration, "number" | "name" | "checksum">;

/** All files or none: one transaction, under a lock that makes a second starter wait. */
export async function migratePostgres(
  postgres: Postgres,
  logger: Logger,
  files = projectFile("migrations", "postgres"),
): Promise<void> {
  const known = await readMigrations(files);
  const migrate = async (sql: Sql): Promise<void> => {
    await lockMigrations(sql, logger);
    await sql.query(`CREATE TABLE IF NOT EXISTS migrations (
      number integer PRIMARY KEY,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
    const applied = await sql.query<Applied>("SELECT number, name, checksum FROM migrations");
    const needed = missing("Postgres", known, applied);
    const baseline = baselineToRecord(known, applied);
    if (baseline !== undefined) {
      await sql.query("DELETE FROM migrations WHERE number < $1", [baseline.number]);
      await sql.query("UPDATE migrations SET name = $2, checksum = $3 WHERE number = $1", [
        baseline.number,
        baseline.name,
        baseline.checksum,
      ]);
    }
    for (const migration of needed) {
      for (const statement of migration.statements) await sql.query(statement);
      await sql.query("INSERT INTO migrations (number, name, checksum) VALUES ($1, $2, $3)", [
        migration.number,
        migration.name,
        migration.checksum,
      ]);
    }
    if (needed.length > 0) logger.info(described(needed), "Postgres migrated");
  };
  try {
    await postgres.transaction(migrate, { isUnhurried: true });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === insufficientPrivilege))
      throw error;
    throw new MigrationRefused(
      `DATABASE_URL: this user may not make tables (${error.message}). Make it the database's ` +
        "owner, or run: GRANT CREATE ON SCHEMA public TO <user>",
    );
  }
}

const insufficientPrivilege = "42501";

async function lockMigrations(sql: Sql, logger: Logger): Promise<void> {
  const [first] = await sql.query<{ locked: boolean }>(
    "SELECT pg_try_advisory_xact_lock($1) AS locked",
    [advisoryLock],
  );
  if (first?.locked === true) return;
  logger.info("another process migrates Postgres: waiting until it has");
  await sql.query("SELECT pg_advisory_xact_lock($1)", [advisoryLock]);
}

/**
 * ClickHouse has no transactions: a file is recorded after its statements, which may run twice.
 * Each server of a cluster has its own record, and continues where it was.
 */
export async function migrateClickHouse(
  clickhouse: ClickHouse,
  logger: Logger,
  files = projectFile("migrations", "clickhouse"),
): Promise<void> {
  const known = await readMigrations(files);
  try {
    await clickhouse.cluster?.claimShardIdentities();
    for (const node of clickhouse.nodes) await migrateNode(node, logger, known);
    await clickhouse.cluster?.joinTables();
  } catch (error) {
    if (!(error instanceof Error && isNotAllowed(error))) throw error;
    throw new MigrationRefused(
      `CLICKHOUSE_URL: this user may not make the tables: ${error.message.split("\n", 1)[0]} ` +
        "Its GRANTs are in docs/operating.md",
    );
  }
}

async function migrateNode(
  node: ClickHouseNode,
  logger: Logger,
  known: readonly Migration[],
): Promise<void> {
  await node.write(`CREATE TABLE IF NOT EXISTS migrations
    (number UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
    ENGINE = MergeTree ORDER BY number SETTINGS index_granularity = 8192${durableSettings}`);
  const applied = await node.rows<Applied>("SELECT number, name, checksum FROM migrations");
  const needed = missing("ClickHouse", known, applied);
  const baseline = baselineToRecord(known, applied);
  if (baseline !== undefined) {
    // Cut short between the two, the next start runs all files again, which changes nothing.
    await node.write("TRUNCATE TABLE migrations");
    const later = applied.filter(({ number }) => number > baseline.number);
    for (const migration of [baseline, ...later]) await recordOn(node, migration);
  }
  for (const migration of needed) {
    for (const statement of migration.statements) {
      await node.write(statement.replaceAll("${durable}", durableSettings));
    }
    await recordOn(node, migration);
  }
  if (needed.length > 0) {
    logger.info({ node: node.name, ...described(needed) }, "ClickHouse migrated");
  }
}

async function recordOn(node: ClickHouseNode, { number, name, checksum }: Applied): Promise<void> {
  await node.write(
    `INSERT INTO migrations (number, name, checksum)
     SELECT {number:UInt32}, {name:String}, {checksum:String}
     WHERE {number:UInt32} NOT IN (SELECT number FROM migrations)`,
    { number, name, checksum },
  );
}

function described(migrations: readonly Migration[]) {
  return { migrations: migrations.length, to: migrations.at(-1)?.name };
}

/** Any number that nothing else in the database uses. */
const advisoryLock = 7_305_119;

/** Files are `<number>_<name>.sql`, numbered from 1, or from a baseline's number, without a gap. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const migrations = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), "utf8");
      const replaced = /^-- Baseline: \d+ had the checksum ([0-9a-f]{64})$/m.exec(text)?.[1];
      return {
        number: Number(/^(\d+)_/.exec(name)?.[1]),
        name,
        checksum: createHash("sha256").update(text).digest("hex"),
        statements: statementsOf(text),
        ...(replaced !== undefined && { replaced }),
      };
    }),
  );
  const [first] = migrations;
  const start = first?.replaced === undefined ? 1 : first.number;
  for (const [index, { name, number }] of migrations.entries()) {
    if (number !== start + index) throw new Error(`${name} should begin with ${start + index}`);
  }
  return migrations;
}

/** The baseline, where `applied` has the migrations it stands for. */
function baselineToRecord(
  [baseline]: readonly Migration[],
  applied: readonly Applied[],
): Migration | undefined {
  const isReplaced = applied.some(({ checksum }) => checksum === baseline?.replaced);
  return isReplaced ? baseline : undefined;
}

/** A statement ends with a semicolon at the end of a line. */
function statementsOf(text: string): string[] {
  return text
    .replace(/^\s*--.*$/gm, "")
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

/** What a person can do with such data, which is not converted. */
const ofAnotherVersion = {
  Postgres:
    "Start the version that made it, with which it can be backed up and restored. To begin anew " +
    "with this version, give it an empty DATA_DIR (on a server, an empty database).",
  ClickHouse:
    "Start the version that made it, or make the tables again from the log: move clickhouse/ in " +
    "DATA_DIR away (on a server, name an empty database in CLICKHOUSE_URL), then run: " +
    "npm run ops -- replay",
} as const;

/**
 * What still has to run.
 * @throws MigrationRefused when the database is ahead of this program or went another way.
 */
export function missing(
  database: keyof typeof ofAnotherVersion,
  known: readonly Migration[],
  applied: readonly Applied[],
): Migration[] {
  const [baseline] = known;
  const from = baseline?.replaced === undefined ? 1 : baseline.number;
  const newest = applied.reduce<Applied | undefined>(
    (last, one) => (last === undefined || one.number > last.number ? one : last),
    undefined,
  );
  if (newest !== undefined && newest.number < from) {
    throw new MigrationRefused(
      `The ${database} data is older than this version can bring up to date (its last migration ` +
        `is ${newest.name}). Start the last version 0.1.0 (commit b5fee71e) with it once, ` +
        "then this one.",
    );
  }
  for (const { number, name, checksum } of applied) {
    if (number < from) continue;
    const file = known.find((migration) => migration.number === number);
    if (!file) {
      throw new MigrationRefused(
        `The ${database} data was made by a newer version (it has migration ${name}). ` +
          "Start that version or a later one, or restore a backup made by this one.",
      );
    }
    if (checksum !== file.checksum && checksum !== file.replaced) {
      throw new MigrationRefused(
        `The ${database} data was made by another version (its migration ${name} is not the one ` +
          `of this version). ${ofAnotherVersion[database]}`,
      );
    }
  }
  return known.filter(({ number }) => !applied.some((one) => one.number === number));
}
