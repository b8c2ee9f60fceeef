/**
 * A lock file that names its process. Node offers no lock of the operating system's own, so a
 * lock left by a process that is gone is recognised by process id and start time together.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Another process works on the folder. */
export class FolderLocked extends Error {
  override readonly name = "FolderLocked";
}

interface Holder {
  readonly pid: number;
  /** What tells it from a later process with the same id. */
  readonly startedAt: string;
}

const attemptsMax = 5;

/** @returns the release. @throws FolderLocked */
export function lockFolder(path: string): () => void {
  const file = join(path, "lock");
  const draft = `${file}.${process.pid}`;
  const self: Holder = { pid: process.pid, startedAt: startOf(process.pid) ?? "" };
  if (held.has(file)) throw locked(path, self.pid);
  writeFileSync(draft, JSON.stringify(self), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      if (linked(draft, file)) {
        held.add(file);
        return () => {
          if (held.delete(file)) rmSync(file, { force: true });
        };
      }
      const holder = readHolder(file);
      if (holder && startOf(holder.pid) === holder.startedAt) throw locked(path, holder.pid);
      removeStale(file, holder);
    }
    throw new FolderLocked(`${file} could not be taken; try again.`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Locks of this process: its own id and start time would look like a stale one after a fork. */
const held = new Set<string>();

function locked(path: string, pid: number): FolderLocked {
  return new FolderLocked(
    `The data folder ${path} is in use by process ${pid}. One folder serves one process: ` +
      "stop that one, or give this one another DATA_DIR.",
  );
}

/** A link is made whole and only when there is none: of two starters one wins. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function readHolder(file: string): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isHolder(holder) ? holder : undefined;
  } catch (error) {
    // Released meanwhile, or cut short by a power cut: in neither case is anyone there.
    if (codeOf(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isHolder(value: unknown): value is Holder {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "startedAt" in value &&
    typeof value.startedAt === "string"
  );
}

/** Moved aside first: if another starter was quicker, what was moved is its lock and goes back. */
function removeStale(file: string, stale: Holder | undefined): void {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  const moved = readHolder(aside);
  if (moved && (moved.pid !== stale?.pid || moved.startedAt !== stale.startedAt)) {
    linked(aside, file);
  }
  rmSync(aside);
}

/** Undefined when there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    if (codeOf(error) === "ESRCH") return undefined;
  }
  if (process.platform !== "linux") return "alive";
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The name in parentheses may hold spaces; the start time is the 20th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return `${boot}/${fields[19]}`;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ESRCH") return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
