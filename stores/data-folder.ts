/**
 * The folder of the embedded backends: for one process at a time, its secrets for its owner only.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
  mkdirSync,
} from "node:fs";
import { join, resolve, dirname } from "node:path";
import type { Config } from "../config.js";
import { lockFolder } from "./folder-lock.js";
import { randomBase62 } from "./vault/random.js";

export interface Secrets {
  /** 64 hexadecimal characters. */
  readonly vaultKey: string;
  readonly adminToken: string;
}

export interface DataFolder extends Secrets {
  /** The key that an unfinished rotation was about to put in its place; it opens some secrets. */
  readonly nextVaultKey: string | null;
  /** Absolute. */
  readonly path: string;
  /** Files made by this start, to be shown to the operator. */
  readonly made: readonly string[];
  /** Others could read the folder until this start closed it. */
  readonly isClosed: boolean;
  readonly unlock: () => void;
}

/** The folder or a file in it cannot be used; the message says what to do. */
export class DataFolderRefused extends Error {
  override readonly name = "DataFolderRefused";
}

export const tokenFile = "admin.token";
export const keyFile = "vault.key";
const nextKeyFile = "vault.key.next";
export const storeFolders = { log: "log", clickhouse: "clickhouse", postgres: "postgres" } as const;
const keyShape = /^[0-9a-fA-F]{64}$/;

export function openDataFolder(
  config: Pick<Config, "DATA_DIR" | "DATABASE_URL" | "VAULT_ENCRYPTION_KEY" | "ADMIN_TOKEN">,
): DataFolder {
  const path = resolve(config.DATA_DIR);
  const unlock = takeFolder(path);
  try {
    const isClosed = closeToOthers(path);
    const made: string[] = [];
    const secret = (name: string, shape: RegExp, draw: () => string): string => {
      const file = join(path, name);
      if (writeOnce(file, draw)) made.push(file);
      return readSecret(file, shape);
    };
    if (config.DATABASE_URL === undefined) refuseLostSettings(path);
    if (config.VAULT_ENCRYPTION_KEY === undefined) refuseLostKey(path);
    return {
      path,
      vaultKey: config.VAULT_ENCRYPTION_KEY ?? secret(keyFile, keyShape, drawKey),
      nextVaultKey: existsSync(join(path, nextKeyFile))
        ? readSecret(join(path, nextKeyFile), keyShape)
        : null,
      adminToken:
        config.ADMIN_TOKEN ??
        secret(tokenFile, /^[\x21-\x7e]{32,}$/, () => randomBase62(tokenLength)),
      made,
      isClosed,
      unlock,
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * A new key in the place of a lost one would open nothing, and would replace the right one in
 * backups. Without log and tables no event was taken yet, so a new key is fine.
 */
function refuseLostKey(path: string): void {
  const file = join(path, keyFile);
  if (existsSync(file) || filledIn(path) === undefined) return;
  throw new DataFolderRefused(
    `${file} is missing, and what lies in ${path} is sealed under it. Put the file back from ` +
      "where you keep it, or set VAULT_ENCRYPTION_KEY to that key; no other one opens it.",
  );
}

/**
 * An empty database beside a log has none of its workspaces: every webhook would get 404, every key
 * 401. Postgres is made before log and tables, so a crash cannot leave this.
 */
function refuseLostSettings(path: string): void {
  const filled = filledIn(path);
  // Without this file the embedded engine would begin a new database in the folder.
  const mark = join(path, storeFolders.postgres, "PG_VERSION");
  if (existsSync(mark) || filled === undefined) return;
  throw new DataFolderRefused(
    `${path} has ${filled}/ but no complete ${storeFolders.postgres}/ with its workspaces. ` +
      "If they are on a server, set DATABASE_URL; if they are lost, restore a backup into an " +
      "empty folder.",
  );
}

/** The first of the folders that hold events or figures; undefined: nothing was taken yet. */
function filledIn(path: string): string | undefined {
  const { log, clickhouse } = storeFolders;
  return [log, clickhouse].find((name) => existsSync(join(path, name)));
}

/**
 * For commands that must not make a new installation.
 * @throws DataFolderRefused when log or settings should be in the folder and are not
 */
export function expectInstallation(
  config: Pick<Config, "DATA_DIR" | "KAFKA_BROKERS" | "DATABASE_URL">,
): void {
  const path = resolve(config.DATA_DIR);
  // Without its tables it is still an installation: a replay makes them again.
  const parts = [
    ...(config.KAFKA_BROKERS === undefined ? [storeFolders.log] : []),
    ...(config.DATABASE_URL === undefined ? [storeFolders.postgres] : []),
  ];
  const missing = parts.filter((name) => !existsSync(join(path, name)));
  if (missing.length === 0) return;
  throw new DataFolderRefused(
    `There is no installation in ${path} (no ${missing.join(", no ")}). Give this command the ` +
      "settings of the service, DATA_DIR first.",
  );
}

/**
 * Makes it where there is none.
 * @throws DataFolderRefused, FolderLocked
 */
function takeFolder(path: string): () => void {
  try {
    makeFolder(path);
    return lockFolder(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = folderProblems[code];
    if (why === undefined) throw error;
    throw new DataFolderRefused(`DATA_DIR: ${path} cannot be used: ${why}.`);
  }
}

/** Secrets have modes of their own; the files of the engines are as open as the folder is. */
function closeToOthers(path: string): boolean {
  // Windows has no such modes.
  if (process.platform === "win32" || (statSync(path).mode & 0o077) === 0) return false;
  try {
    chmodSync(path, 0o700);
    return true;
  } catch {
    throw new DataFolderRefused(
      `${path} can be read by others on this machine, and belongs to another user. ` +
        `Close it with: chmod 700 ${path}`,
    );
  }
}

const folderProblems: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EEXIST: "it is a file, not a folder",
  ENOENT: "no folder can be made there",
  ENOLCK: "its file system has no locks (flock); take a disk of this machine",
  ENOTDIR: "a part of it is a file, not a folder",
};

/**
 * Gives the folder a new vault key, in two steps, so that both keys are there while `reseal` runs.
 * After a crash the old one is still in place, and a repeat continues with the same new one.
 */
export async function replaceVaultKey(
  folder: string,
  reseal: (keys: { readonly next: string; readonly previous: string }) => Promise<void>,
): Promise<void> {
  const [file, nextFile] = [join(folder, keyFile), join(folder, nextKeyFile)];
  writeOnce(nextFile, drawKey);
  const next = readSecret(nextFile, keyShape);
  await reseal({ next, previous: readSecret(file, keyShape) });
  renameSync(nextFile, file);
  syncFolder(folder);
}

/** The key an installation would open with, 64 hexadecimal characters; null: it has none yet. */
export function vaultKeyOf(
  config: Pick<Config, "DATA_DIR" | "VAULT_ENCRYPTION_KEY">,
): string | null {
  const file = join(config.DATA_DIR, keyFile);
  return config.VAULT_ENCRYPTION_KEY ?? (existsSync(file) ? readSecret(file, keyShape) : null);
}

/** Puts the vault key of a backup where there is none yet. */
export function placeVaultKey(folder: string, keyHex: string): void {
  makeFolder(folder);
  writeOnce(join(folder, keyFile), () => keyHex);
}

function drawKey(): string {
  return randomBytes(32).toString("hex");
}

/** base62 characters; 43 hold 256 bits. */
const tokenLength = 43;

/**
 * Writes the file if it is missing, whole or not at all, and synced when this returns: data sealed
 * with a key that a power cut took away would be lost.
 */
function writeOnce(file: string, draw: () => string): boolean {
  if (statSync(file, { throwIfNoEntry: false })) return false;
  const draft = `${file}.${process.pid}`;
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeSync(descriptor, `${draw()}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  linkSync(draft, file);
  rmSync(draft);
  syncFolder(join(file, ".."));
  return true;
}

function syncFolder(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function readSecret(file: string, shape: RegExp): string {
  // Windows has no such modes.
  if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
    throw new DataFolderRefused(
      `${file} can be read by others on this machine. Close it with: chmod 600 ${file}`,
    );
  }
  const secret = readFileSync(file, "utf8").trim();
  if (!shape.test(secret)) {
    throw new DataFolderRefused(
      `${file} does not hold what it should. Put back the file from a backup; ` +
        "what was sealed with a lost vault key cannot be opened again.",
    );
  }
  return secret;
}

/**
 * Makes a folder for this user alone, with missing parents; nothing if it exists. One by one: in
 * Node 20 `mkdir` with `recursive` never ends where a file system denies a folder that it has, as
 * `/proc` does.
 * @throws what `mkdir` does: EEXIST too, where it is a file
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !isFolder(folder); folder = dirname(folder)) {
    missing.unshift(folder);
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if (!isFolder(folder)) throw error;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
