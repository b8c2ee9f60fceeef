/**
 * Puts a backup into an empty installation. The whole backup is checked before anything is written.
 * A mark in Postgres says that a restore is under way, until the last step, the transaction that
 * fills Postgres. Until then the service does not start on these backends, and the same command
 * continues.
 */
import type { Postgres } from "../postgres/postgres.js";
import { topics } from "../../schemas/records/records.js";
import { readRows, tablesWithRows } from "./clickhouse-part.js";
import { readTopics } from "./log-part.js";
import { BackupRefused, type Manifest, checkFiles, readManifest } from "./manifest.js";
import { readTables } from "./postgres-part.js";
import { type BackedUp, migrationsOf } from "./write.js";

export interface CheckedBackup {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly id: string;
}

/** @throws BackupRefused when it is not whole or was changed */
export async function checkBackup(folder: string): Promise<CheckedBackup> {
  const { manifest, id } = await readManifest(folder);
  await checkFiles(folder, manifest.files);
  return { folder, manifest, id };
}

/** @throws BackupRefused before anything is written */
export async function restoreBackup(
  service: BackedUp,
  backup: CheckedBackup,
  report: (line: string) => void,
): Promise<void> {
  const { clickhouse, log, postgres } = service;
  const { folder, manifest, id } = backup;
  const migrations = await migrationsOf(service);
  if (JSON.stringify(migrations) !== JSON.stringify(manifest.migrations)) {
    throw new BackupRefused(
      `The backup was made by version ${manifest.version} with other tables than this version ` +
        "has. Restore it with that version, then upgrade.",
    );
  }
  const underWay = await restoreUnderWay(postgres);
  if (underWay !== null && underWay !== id) {
    throw new BackupRefused(
      "The restore of another backup into this installation did not end. Go on with that one " +
        "(npm run ops -- restore --from it, with these settings), or empty the installation.",
    );
  }
  if (underWay === null) {
    await refuseUnlessEmpty(service);
    await markUnderWay(postgres, id);
  }
  report("Restoring the tables of ClickHouse.");
  await readRows(clickhouse, folder);
  report("Restoring the log.");
  await readTopics(log, manifest, folder);
  report("Restoring the tables of Postgres.");
  await postgres.transaction(async (sql) => {
    await readTables(sql, folder);
    await sql.query(`DROP TABLE ${mark}`);
  });
}

const mark = "restore_under_way";

/** @returns the backup of an unfinished restore; null: there is none */
export async function restoreUnderWay(postgres: Postgres): Promise<string | null> {
  const [found] = await postgres.query<{ name: string | null }>(
    `SELECT to_regclass('${mark}')::text AS name`,
  );
  if (found === undefined || found.name === null) return null;
  const [row] = await postgres.query<{ backup: string }>(`SELECT backup FROM ${mark}`);
  return row?.backup ?? null;
}

async function markUnderWay(postgres: Postgres, id: string): Promise<void> {
  await postgres.transaction(async (sql) => {
    await sql.query(`CREATE TABLE ${mark} (backup text NOT NULL)`);
    await sql.query(`INSERT INTO ${mark} (backup) VALUES ($1)`, [id]);
  });
}

/** @throws BackupRefused */
export async function refuseUnlessEmpty({ clickhouse, log, postgres }: BackedUp): Promise<void> {
  const found: string[] = [];
  const [workspaces] = await postgres.query<{ n: bigint }>("SELECT count(*) AS n FROM workspaces");
  if ((workspaces?.n ?? 0n) > 0n) found.push(`${workspaces?.n} workspaces`);
  const tables = await tablesWithRows(clickhouse);
  if (tables.length > 0) found.push(`rows in ${tables.join(", ")}`);
  for (const topic of Object.values(topics)) {
    if ((await log.ends(topic)).some((end) => end > 0n)) found.push(`records on ${topic}`);
  }
  if (found.length === 0) return;
  throw new BackupRefused(
    `A backup is restored into an empty installation; this one has ${found.join("; ")}. ` +
      "Give it an empty DATA_DIR, or empty databases and topics.",
  );
}
