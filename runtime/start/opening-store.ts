/**
 * An engine that meets damaged files may report them without naming them, or end the process
 * without a word. So what is being opened is noted beside it until it is open.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config.js";
import { DataFolderRefused, storeFolders } from "../../stores/data-folder.js";

/** How to bring the log or the settings back. */
export const restoreAll =
  "restore a backup into an empty DATA_DIR: npm run ops -- restore --from <backup>";
/** How to bring the tables back. */
export const replayAll = "move it away and make it again from the log: npm run ops -- replay";

const markFile = "opening";

/** @throws DataFolderRefused */
export async function openingStore<Store>(
  { DATA_DIR }: Pick<Config, "DATA_DIR">,
  store: keyof typeof storeFolders,
  remedy: string,
  open: (path: string) => Promise<Store>,
): Promise<Store> {
  const path = join(DATA_DIR, storeFolders[store]);
  const mark = join(DATA_DIR, markFile);
  if (existsSync(mark) && readFileSync(mark, "utf8") === store) {
    process.stderr.write(
      `The start before this one ended while it opened ${path}. If this one ends there, too, its ` +
        `files are damaged: ${remedy}\n`,
    );
  }
  writeFileSync(mark, store, { mode: 0o600 });
  try {
    const opened = await open(path);
    rmSync(mark, { force: true });
    return opened;
  } catch (error) {
    rmSync(mark, { force: true });
    if (error instanceof DataFolderRefused) throw error;
    const why = error instanceof Error ? error.message.split("\n", 1)[0] : String(error);
    throw new DataFolderRefused(
      `${path} cannot be opened (${why}). If its disk has room and its files are damaged, ` +
        remedy,
      { cause: error },
    );
  }
}
