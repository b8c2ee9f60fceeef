/**
 * Takes a backup through the ports, also while the service runs.
 *
 * The restored state is one that a crash could have left (docs/decisions, Backups), because the
 * stores may lag behind the log but never be ahead of it. So the order is:
 *
 * 1. The groups' positions: what is booked later is booked again after a restore.
 * 2. ClickHouse: it has all that was handled up to 1.
 * 3. How far backfills have read: what they read is on the log by 4.
 * 4. The ends of the log: all that 2 and 3 report lies before them.
 * 5. The rest of Postgres: it has every workspace, key and integration that events up to 4 name.
 * 6. The records up to the ends.
 * 7. The manifest, when all else is on disk.
 */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { embeddedBackends } from "../../config.js";
import { installationId } from "../vault/account-hash.js";
import { leadsToAll } from "../vault/own-secrets.js";
import { version } from "../../runtime/version.js";
import type { Service } from "../../service.js";
import { clickhouseFile, clickhouseTables, writeRows } from "./clickhouse-part.js";
import { addBackup, refuseAmongOthers, refuseInside, syncToDisk } from "./folder.js";
import { cutTopics, groupOffsets, writeTopics } from "./log-part.js";
import {
  type BackupFile,
  BackupRefused,
  type Manifest,
  hashOf,
  manifestFile,
  manifestText,
} from "./manifest.js";
import { postgresFile, postgresTables, readAheadTables, writeTables } from "./postgres-part.js";

export type BackedUp = Pick<Service, "config" | "log" | "clickhouse" | "postgres" | "vault">;

export interface BackupOrder {
  /** The folder that holds the backups; made when absent. */
  readonly to: string;
  /** How many backups stay there; null: all. */
  readonly keep: number | null;
  /** Put into the backup, 64 hexadecimal characters; null: left out. */
  readonly vaultKey: string | null;
  /** Ends it between two files. */
  readonly signal?: AbortSignal;
}

export const backupKeyFile = "vault.key";

export interface MadeBackup {
  readonly path: string;
  readonly bytes: number;
}

/** @throws BackupRefused; anything else when a store or the disk fails, and then nothing is left */
export async function writeBackup(service: BackedUp, order: BackupOrder): Promise<MadeBackup> {
  const { log, clickhouse, postgres, vault } = service;
  if (!(await leadsToAll(postgres, vault))) {
    throw new BackupRefused(
      "A rotation of the vault key did not end, and a backup of now could not be opened by one " +
        "key. Run npm run ops -- rotate-key again.",
    );
  }
  if (embeddedBackends(service.config).length > 0) {
    refuseInside(order.to, service.config.DATA_DIR);
  }
  const madeAt = new Date();
  const installation = await installationId(postgres, vault);
  let bytes = 0;
  const path = await addBackup(order.to, madeAt, order.keep, async (folder) => {
    await refuseAmongOthers(order.to, installation);
    for (const part of ["log", "clickhouse", "postgres"]) await mkdir(join(folder, part));
    const groups = await groupOffsets(log);
    await writeRows(clickhouse, folder, order.signal);
    await writeTables(postgres, folder, readAheadTables);
    const topics = await cutTopics(log, groups);
    const others = postgresTables.filter((table) => !readAheadTables.includes(table));
    await writeTables(postgres, folder, others);
    const records = await writeTopics(log, topics, folder, order.signal);
    const paths = [...clickhouseTables.map(clickhouseFile), ...postgresTables.map(postgresFile)];
    if (order.vaultKey !== null) {
      await writeFile(join(folder, backupKeyFile), `${order.vaultKey}\n`, { mode: 0o600 });
      paths.push(backupKeyFile);
    }
    const files: BackupFile[] = [...records];
    for (const file of paths) files.push(await finished(folder, file));
    for (const part of ["clickhouse", "postgres"]) await syncToDisk(join(folder, part));
    bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const manifest = manifestText({
      made_at: madeAt.toISOString(),
      version,
      installation,
      vault_key_id: vault.keyId,
      migrations: await migrationsOf(service),
      topics,
      files,
    });
    await writeFile(join(folder, manifestFile), manifest, { flag: "wx", flush: true });
  });
  return { path, bytes };
}

/** `name checksum` of the applied ones. */
export async function migrationsOf({
  clickhouse,
  postgres,
}: BackedUp): Promise<Manifest["migrations"]> {
  const sql = "SELECT name, checksum FROM migrations ORDER BY number";
  const lines = (rows: readonly { name: string; checksum: string }[]): string[] =>
    rows.map(({ name, checksum }) => `${name} ${checksum}`);
  return {
    postgres: lines(await postgres.query(sql)),
    clickhouse: lines(await clickhouse.rows(sql)),
  };
}

/** Synced to disk, with its checksum. */
async function finished(folder: string, path: string): Promise<BackupFile> {
  const absolute = join(folder, path);
  await syncToDisk(absolute);
  const { size } = await stat(absolute);
  return { path, bytes: size, sha256: await hashOf(absolute) };
}
