/**
 * Syncs the files of a folder, for all waiting callers at once: a call during one pass is served by
 * the next.
 */
import { closeSync, fsync, openSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const fsyncOpened = promisify(fsync);
/** File times are as exact as the system's clock ticks, which is far finer than this. */
const settledMs = 5_000;

export class FolderSync {
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  /**
   * Files whose last change lay `settledMs` back when they were synced, with the time of that
   * change.
   */
  readonly #settled = new Map<string, number>();
  /** The folder's names when it was last synced itself. */
  #names = "";

  constructor(private readonly path: string) {}

  /** Resolves when all that was written before the call survives the end of the machine. */
  synced(): Promise<void> {
    this.#next ??= this.#pass(this.#running);
    return this.#next;
  }

  async #pass(before: Promise<void> | null): Promise<void> {
    await before?.catch(() => undefined);
    this.#running = this.#next;
    this.#next = null;
    try {
      await this.#syncAll();
    } finally {
      // Unless the next pass waits for this one already.
      if (this.#next === null) this.#running = null;
    }
  }

  /** Reading the folder does not block for long, and a thread for each call would cost more. */
  async #syncAll(): Promise<void> {
    const entries = readdirSync(this.path, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    for (const name of files) await this.#syncFile(name);
    const names = entries.map(({ name }) => name).join("/");
    if (names === this.#names) return;
    await sync(this.path);
    this.#names = names;
  }

  async #syncFile(name: string): Promise<void> {
    const path = join(this.path, name);
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    // Postgres may recycle a segment between the listing and this.
    if (changedAt === undefined || this.#settled.get(name) === changedAt) return;
    const startedAt = Date.now();
    await sync(path);
    if (startedAt - changedAt > settledMs) this.#settled.set(name, changedAt);
    else this.#settled.delete(name);
  }
}

async function sync(path: string): Promise<void> {
  const file = openIfThere(path);
  if (file === null) return;
  try {
    await fsyncOpened(file);
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
