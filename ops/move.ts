/**
 * `npm run ops -- move`: a backup of this installation, restored into the one another settings
 * file names. The first stays as it is, so a move that fails costs nothing but time.
 */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { BackupRefused, readManifest } from "../stores/backup/manifest.js";
import { refuseUnlessEmpty, restoreUnderWay } from "../stores/backup/restore.js";
import { writeBackup } from "../stores/backup/write.js";
import { expectInstallation, vaultKeyOf } from "../stores/data-folder.js";
import { vaultKeyId } from "../stores/vault/vault.js";
import { type Config, ConfigError, readConfig } from "../config.js";
import { groups } from "../stores/watermark/watermark.js";
import { topics } from "../schemas/records/records.js";
import { restore } from "./backup.js";
import { mistypedSettings } from "./mistyped-settings.js";
import type { Given } from "./given.js";

export interface MoveWords {
  /** A file of settings, `NAME=value` lines: the installation to move to. */
  readonly to: string;
  /** Where the backup is made; it stays there. */
  readonly through: string;
}

/** @throws BackupRefused, ConfigError before anything of this installation is written there */
export async function move(
  config: Config,
  { to, through }: MoveWords,
  { open, close, report }: Pick<Given, "open" | "close" | "report">,
): Promise<void> {
  const settings = parseEnv(await settingsIn(to));
  // The file is written for this alone: in it nothing else can be meant.
  const mistyped = mistypedSettings(settings);
  if (mistyped.length > 0) throw new ConfigError(mistyped);
  const target = readConfig(settings);
  if (config.CLICKHOUSE_URL === undefined && target.CLICKHOUSE_URL === undefined) {
    throw new BackupRefused(
      "The embedded ClickHouse engine opens one folder in a process. Between two data folders " +
        "use backup and restore.",
    );
  }
  const key = vaultKeyOf(target);
  const own = vaultKeyOf(config);
  expectInstallation(config);
  // Where there is none here, opening says so.
  if (own !== null && (key === null || vaultKeyId(key) !== vaultKeyId(own))) {
    throw new BackupRefused(
      `Sealed data stays as it is: ${to} needs the same VAULT_ENCRYPTION_KEY ` +
        `(${vaultKeyId(own)}).`,
    );
  }
  await refuseUnusable(target, { open, close });
  const service = await open(config, { alone: true });
  const { path } = await writeBackup(service, { to: through, keep: null, vaultKey: null });
  report(`Made ${path}.`);
  const { manifest } = await readManifest(path);
  const ends = await service.log.ends(topics.raw);
  if (manifest.topics[topics.raw].partitions.some(({ end }, number) => ends[number] !== end)) {
    throw new BackupRefused("Events arrived meanwhile: stop the service, then move.");
  }
  await close();
  await restore(target, path, open, report);
  report("Start the new installation and never the old one again: each would take its own events.");
}

/**
 * The installation to move to, before a backup is made that might take hours: whether it opens, its
 * users have the rights, and it is empty.
 */
async function refuseUnusable(
  target: Config,
  { open, close }: Pick<Given, "open" | "close">,
): Promise<void> {
  const all = Object.values(topics);
  const logUse = { reads: all, appends: all, consumes: Object.values(groups) };
  const service = await open({ ...target, RATES_REFRESH: "off" }, { restoring: true, logUse });
  const underWay = await restoreUnderWay(service.postgres);
  if (underWay !== null) {
    throw new BackupRefused(
      "A restore into the installation to move to did not end. Go on with that one " +
        "(npm run ops -- restore --from its backup, with those settings), or empty it.",
    );
  }
  await refuseUnlessEmpty(service);
  await close();
}

async function settingsIn(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`--to: ${file} cannot be read: ${why}`]);
  }
}
