/**
 * The demo's folder. Its marker file says that it is one (nothing else is ever removed), which
 * history was played, and how to reach the workspace again.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { lockFolder } from "../../stores/folder-lock.js";
import { type Merchant, merchant } from "./merchant.js";

const marker = z.object({
  demo: z.literal(1),
  seed: z.string(),
  /** ms since 1970: the end of the history, the moment the folder was made. */
  end: z.number(),
  /** Absent until its workspace is made and its history written. */
  merchant: merchant.optional(),
});
type Marker = z.output<typeof marker>;

/** The folder is not the demo's; the message says what to do. */
export class FolderRefused extends Error {
  override readonly name = "FolderRefused";
}

const markerFile = "demo.json";

export class DemoFolder {
  readonly data: string;
  readonly log: string;
  #marker: Marker;

  private constructor(
    readonly path: string,
    found: Marker,
  ) {
    this.data = join(path, "data");
    this.log = join(path, "service.log");
    this.#marker = found;
  }

  /**
   * @param options.fresh removes what an earlier demo left
   * @throws FolderRefused; FolderLocked when a demo is running on what should be removed
   */
  static open(
    path: string,
    options: { readonly fresh: boolean; readonly seed: string; readonly now: number },
  ): DemoFolder {
    const found = readMarker(path);
    if (found !== null && !options.fresh) return new DemoFolder(path, found);
    if (found !== null) removeDemo(path);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const folder = new DemoFolder(path, { demo: 1, seed: options.seed, end: options.now });
    folder.#write();
    return folder;
  }

  get seed(): string {
    return this.#marker.seed;
  }

  get end(): number {
    return this.#marker.end;
  }

  /** @param url where the service answers this time; null when no workspace was made yet */
  merchantAt(url: string): Merchant | null {
    const known = this.#marker.merchant;
    return known === undefined ? null : { ...known, url };
  }

  /** False: what there is of its history was cut short. */
  get isWhole(): boolean {
    return this.#marker.merchant !== undefined;
  }

  /** Removes the data. @throws FolderLocked when a demo is running on it */
  forgetData(): void {
    if (!existsSync(this.data)) return;
    lockFolder(this.data)();
    rmSync(this.data, { recursive: true });
  }

  /** When all of its history is written. */
  remember(made: Omit<Merchant, "url">): void {
    this.#marker = { ...this.#marker, merchant: merchant.parse(made) };
    this.#write();
  }

  /** Whole or not at all; it holds a key. */
  #write(): void {
    const file = join(this.path, markerFile);
    writeFileSync(`${file}.new`, `${JSON.stringify(this.#marker, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

/** @returns null when there is nothing yet */
function readMarker(path: string): Marker | null {
  const file = join(path, markerFile);
  if (!existsSync(file)) {
    if (!existsSync(path) || readdirSync(path).length === 0) return null;
    throw new FolderRefused(
      `${path} is not empty and has no demo (no ${markerFile}). Move it away first.`,
    );
  }
  const content: unknown = JSON.parse(readFileSync(file, "utf8"));
  const read = marker.safeParse(content);
  if (read.success) return read.data;
  throw new FolderRefused(`${file} cannot be read: ${z.prettifyError(read.error)}`);
}

function removeDemo(path: string): void {
  const data = join(path, "data");
  // Fails while a demo is running on it.
  if (existsSync(data)) lockFolder(data)();
  rmSync(path, { recursive: true });
}
