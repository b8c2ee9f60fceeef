/** `npm run ops -- backup` and `restore`: see backends/backup. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { newestBackupIn } from "../stores/backup/folder.js";
import { BackupRefused, readManifest } from "../stores/backup/manifest.js";
import { type CheckedBackup, checkBackup, restoreBackup } from "../stores/backup/restore.js";
import { type MadeBackup, backupKeyFile, writeBackup } from "../stores/backup/write.js";
import { keyFile, placeVaultKey, vaultKeyOf } from "../stores/data-folder.js";
import { FolderLocked } from "../stores/folder-lock.js";
import type { Service } from "../service.js";
import { vaultKeyId } from "../stores/vault/vault.js";
import { type Config, embeddedBackends } from "../config.js";
import { askForBackup, type BackupWords } from "./backup-online.js";

type Report = (line: string) => void;

/** An embedded installation that is being worked on makes its backup itself. */
export async function backup(
  config: Config,
  words: BackupWords,
  open: (config: Config) => Promise<Service>,
  report: Report,
): Promise<void> {
  const { path, bytes } = await make(config, words, open);
  const { manifest } = await readManifest(path);
  report(`Made ${path} (${bytes} bytes).`);
  report(
    words.withKey
      ? "This backup contains the vault key: anyone who has it can read everything."
      : `The vault key ${manifest.vault_key_id} is not inside. Keep it apart: without it the ` +
          "backup cannot be restored.",
  );
}

async function make(
  config: Config,
  words: BackupWords,
  open: (config: Config) => Promise<Service>,
): Promise<MadeBackup> {
  try {
    const service = await open(config);
    const vaultKey = words.withKey ? vaultKeyOf(config) : null;
    return await writeBackup(service, { to: words.to, keep: words.keep, vaultKey });
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error;
    return askForBackup(config, words);
  }
}

/**
 * @param open opens the installation the settings name
 * @throws BackupRefused before anything is touched
 */
export async function restore(
  config: Config,
  from: string,
  open: (config: Config, options: { readonly restoring: boolean }) => Promise<Service>,
  report: Report,
): Promise<void> {
  const newest = await newestBackupIn(resolve(from));
  if (newest !== undefined) {
    throw new BackupRefused(`${from} is a folder of backups. Name one of them: --from ${newest}`);
  }
  const checked = await checkBackup(resolve(from));
  report(`The backup of ${checked.manifest.made_at} is whole.`);
  await settleVaultKey(config, checked);
  // The backup has its own editions of rates; none may be added while it is put in.
  const service = await open({ ...config, RATES_REFRESH: "off" }, { restoring: true });
  // The public topics are written under the schema ids of this installation.
  await service.publicSchemas.announce();
  await restoreBackup(service, checked, report);
  report(
    "Restored. Start the service; what was under way when the backup was made is gone on with.",
  );
}

/** Before an installation is opened, which would draw a key of its own. */
async function settleVaultKey(config: Config, backedUp: CheckedBackup): Promise<void> {
  const { vault_key_id: wanted, files } = backedUp.manifest;
  const key = vaultKeyOf(config);
  const keys = [key, config.VAULT_ENCRYPTION_KEY_PREVIOUS].flatMap((hex) => hex ?? []);
  if (keys.some((hex) => vaultKeyId(hex) === wanted)) return;
  const isInside = files.some(({ path }) => path === backupKeyFile);
  if (key === null && isInside && embeddedBackends(config).length > 0) {
    const hex = (await readFile(join(backedUp.folder, backupKeyFile), "utf8")).trim();
    if (vaultKeyId(hex) === wanted) return placeVaultKey(config.DATA_DIR, hex);
  }
  throw new BackupRefused(
    `The backup is sealed under the vault key ${wanted}` +
      (key === null ? "" : `, and this installation has ${vaultKeyId(key)}`) +
      `. Set VAULT_ENCRYPTION_KEY to it, or put it into ${join(config.DATA_DIR, keyFile)} ` +
      "(mode 600).",
  );
}
