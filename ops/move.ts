/**
 * `npm run ops -- move`: a backup of this installation, restored into the one another settings
 * file names. The first stays as it is, so a move that fails costs nothing but time.
 */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { BackupRefused, readManifest } from "../backup/manifest.js";
import { writeBackup } from "../backup/write.js";
import { vaultKeyOf } from "../runtime/data-folder.js";
import { vaultKeyId } from "../vault/vault.js";
import { type Config, ConfigError, readConfig } from "../config.js";
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

/** @throws BackupRefused, ConfigError before anything is written there */
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
  const service = await open(config, { alone: true });
  const { keyId } = service.vault;
  if (key === null || vaultKeyId(key) !== keyId) {
    throw new BackupRefused(
      `Sealed data stays as it is: ${to} needs the same VAULT_ENCRYPTION_KEY (${keyId}).`,
    );
  }
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

async function settingsIn(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`--to: ${file} cannot be read: ${why}`]);
  }
}
