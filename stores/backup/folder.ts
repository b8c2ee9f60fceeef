/** The folder with backups. Each has a folder of its own, which gets its name once it is whole. */
import { realpathSync } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { FolderLocked, lockFolder } from "../folder-lock.js";
import { makeFolder } from "../data-folder.js";
import { BackupRefused, readManifest } from "./manifest.js";

const partialEnding = ".partial";
/** `2026-11-21T05-30-00.000Z`: no colons, which some file systems refuse. */
const namePattern = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/;

/**
 * Gives an empty folder to `write`, and its name when that resolves; when it rejects, or the disk
 * is full, nothing is left. One backup into a folder at a time.
 * @param keep how many whole backups stay, this one and the newest before it; null: all
 * @returns the path of the new backup
 */
export async function addBackup(
  to: string,
  madeAt: Date,
  keep: number | null,
  write: (folder: string) => Promise<void>,
): Promise<string> {
  const root = resolve(to);
  makeFolder(root);
  const unlock = lock(root);
  try {
    await removePartial(root);
    const path = join(root, madeAt.toISOString().replaceAll(":", "-"));
    const partial = `${path}${partialEnding}`;
    await mkdir(partial, { mode: 0o700 });
    try {
      await write(partial);
      await syncToDisk(partial);
      await rename(partial, path);
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw error;
    }
    await syncToDisk(root);
    if (keep !== null) await keepNewest(root, keep, basename(path));
    return path;
  } finally {
    unlock();
  }
}

/**
 * Two installations in one folder would remove each other's backups (`keep`), and one could be
 * restored for the other.
 * @throws BackupRefused when a backup in the folder is of another one
 */
export async function refuseAmongOthers(to: string, installation: string): Promise<void> {
  for (const name of (await readdir(to)).filter((one) => namePattern.test(one))) {
    // A damaged one, or one of another version, does not say whose it is.
    const found = await readManifest(join(to, name)).catch(() => null);
    const owner = found?.manifest.installation;
    if (owner === undefined || owner === installation) continue;
    throw new BackupRefused(
      `${join(to, name)} is a backup of another installation (${owner}, this one is ` +
        `${installation}). Give each installation a folder of its own.`,
    );
  }
}

/**
 * A backup inside the data folder would be lost with it, and the engines take every file in their
 * folders for their own.
 * @throws BackupRefused when `to`, its symbolic links followed, lies in the data folder
 */
export function refuseInside(to: string, dataFolder: string): void {
  const [inner, outer] = [realPath(to), realPath(dataFolder)];
  if (inner !== outer && !inner.startsWith(`${outer}${sep}`)) return;
  throw new BackupRefused(
    `${to} is in the data folder ${dataFolder}. Back up to another place, best on another disk.`,
  );
}

/** The last parts of the path may not exist yet. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    const parent = dirname(whole);
    return parent === whole ? whole : join(realPath(parent), basename(whole));
  }
}

/** @returns the path of the newest backup; undefined: it is no folder of backups */
export async function newestBackupIn(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  const newest = names
    .filter((name) => namePattern.test(name))
    .sort()
    .at(-1);
  return newest === undefined ? undefined : join(folder, newest);
}

async function removePartial(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const whole = name.endsWith(partialEnding) ? name.slice(0, -partialEnding.length) : "";
    if (namePattern.test(whole)) await rm(join(root, name), { recursive: true, force: true });
  }
}

/**
 * Backups dated later than the one just made, by a clock that was ahead, are not counted and stay:
 * otherwise newer ones would be removed as older.
 */
async function keepNewest(root: string, keep: number, made: string): Promise<void> {
  const names = (await readdir(root)).filter((name) => namePattern.test(name) && name <= made);
  for (const name of names.sort().slice(0, -keep)) {
    // Renamed first, because half removed it must not look whole.
    const partial = join(root, `${name}${partialEnding}`);
    await rename(join(root, name), partial);
    await rm(partial, { recursive: true });
  }
}

function lock(root: string): () => void {
  try {
    return lockFolder(root);
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error;
    throw new BackupRefused(`Another backup into ${root} is being made. Wait for its end.`);
  }
}

/** @param path of a file or a folder */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
