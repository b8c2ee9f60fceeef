/**
 * A lock of the operating system on a file in the folder. It ends with its process, however that
 * ends, and works between containers that share a folder, where process ids repeat. Node has no
 * such lock, so `flock` is called.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DataType, load, open } from "ffi-rs";

/** Another process works on the folder. */
export class FolderLocked extends Error {
  override readonly name = "FolderLocked";
}

/** @returns the release. @throws FolderLocked */
export function lockFolder(path: string): () => void {
  const file = join(path, "lock");
  const descriptor = openLocked(path, file);
  try {
    // For whoever finds it locked.
    ftruncateSync(descriptor);
    writeSync(descriptor, `${JSON.stringify({ pid: process.pid, host: hostname() })}\n`);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    rmSync(file, { force: true });
    closeSync(descriptor);
  };
}

/**
 * The former holder may remove the file just before it is locked; then it is no file of the folder.
 */
function openLocked(path: string, file: string): number {
  for (;;) {
    const descriptor = openSync(file, "a+", 0o600);
    try {
      if (!tryLock(descriptor)) throw locked(path, readHolder(file));
      if (statSync(file, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino) {
        return descriptor;
      }
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    closeSync(descriptor);
  }
}

const library = "libc of the folder lock";
const exclusive = 2;
const withoutWaiting = 4;
/** EWOULDBLOCK */
const heldByAnother = process.platform === "darwin" ? 35 : 11;
let isLoaded = false;

/** @returns false when another holds it. @throws ENOLCK when the file system has no locks */
function tryLock(descriptor: number): boolean {
  if (!isLoaded) open({ library, path: process.platform === "darwin" ? darwinC : linuxC });
  isLoaded = true;
  const reported = load({
    library,
    funcName: "flock",
    retType: DataType.I32,
    paramsType: [DataType.I32, DataType.I32],
    paramsValue: [descriptor, exclusive | withoutWaiting],
    errno: true,
  });
  if (typeof reported === "number") throw new Error("flock was called without its error number");
  if (reported.value === 0) return true;
  if (reported.errnoCode === heldByAnother) return false;
  throw Object.assign(new Error(`flock: ${reported.errnoMessage}`), { code: "ENOLCK" });
}

const linuxC = "libc.so.6";
const darwinC = "/usr/lib/libSystem.B.dylib";

function locked(path: string, holder: string): FolderLocked {
  return new FolderLocked(
    `The data folder ${path} is in use by ${holder}. One folder serves one process: ` +
      "stop that one, or give this one another DATA_DIR.",
  );
}

/** The holder may be in the middle of writing its name, or of leaving. */
function readHolder(file: string): string {
  try {
    const holder: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isHolder(holder)) {
      return `process ${holder.pid}${holder.host === hostname() ? "" : ` on ${holder.host}`}`;
    }
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isGone && !(error instanceof SyntaxError)) throw error;
  }
  return "another process";
}

function isHolder(value: unknown): value is { readonly pid: number; readonly host: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "host" in value &&
    typeof value.host === "string"
  );
}
