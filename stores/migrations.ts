/**
 * Numbered plain SQL files, forward only: each runs once, in order, and is recorded with its
 * checksum in the table `migrations` of its own database.
 */
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ClickHouse, ClickHouseNode } from "./clickhouse/clickhouse.js";
import { isNotAllowed } from "./clickhouse/errors.js";
import { durableSettings } from "./clickhouse/settings.js";
import type { Logger } from "../runtime/logger.js";
import type { Postgres } from "./postgres/postgres.js";
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
}

type Applied = Pick<Migration, "number" | "name" | "checksum">;

/** All files or none: one transaction, under a lock that makes a second starter wait. */
export async function migratePostgres(
  postgres: Postgres,
  logger: Logger,
  files = projectFile("migrations", "postgres"),
): Promise<void> {
  const known = await readMigrations(files);
  const migrate = async (sql: Pick<Postgres, "query">): Promise<void> => {
    await lockMigrations(sql, logger);
    await sql.query(`CREATE TABLE IF NOT EXISTS migrations (
      number integer PRIMARY KEY,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
    const applied = await sql.query<Applied>("SELECT number, name, checksum FROM migrations");
    const needed = missing("Postgres", known, applied);
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

async function lockMigrations(sql: Pick<Postgres, "query">, logger: Logger): Promise<void> {
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
  for (const migration of needed) {
    for (const statement of migration.statements) {
      await node.write(statement.replaceAll("${durable}", durableSettings));
    }
    await node.write(
      `INSERT INTO migrations (number, name, checksum)
       SELECT {number:UInt32}, {name:String}, {checksum:String}
       WHERE {number:UInt32} NOT IN (SELECT number FROM migrations)`,
      { number: migration.number, name: migration.name, checksum: migration.checksum },
    );
  }
  if (needed.length > 0) {
    logger.info({ node: node.name, ...described(needed) }, "ClickHouse migrated");
  }
}

function described(migrations: readonly Migration[]) {
  return { migrations: migrations.length, to: migrations.at(-1)?.name };
}

/** Any number that nothing else in the database uses. */
const advisoryLock = 7_305_119;

/** Files are `<number>_<name>.sql`, numbered from 1 without a gap. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d+)_/.exec(name)?.[1]);
      if (number !== index + 1) throw new Error(`${name} should begin with ${index + 1}`);
      const text = await readFile(join(folder, name), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      return { number, name, checksum, statements: statementsOf(text) };
    }),
  );
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
  for (const { number, name, checksum } of applied) {
    const file = known.find((migration) => migration.number === number);
    if (!file) {
      throw new MigrationRefused(
        `The ${database} data was made by a newer version (it has migration ${name}). ` +
          "Start that version or a later one, or restore a backup made by this one.",
      );
    }
    if (file.checksum !== checksum) {
      throw new MigrationRefused(
        `The ${database} data was made by another version (its migration ${name} is not the one ` +
          `of this version). ${ofAnotherVersion[database]}`,
      );
    }
  }
  return known.filter(({ number }) => !applied.some((one) => one.number === number));
}
