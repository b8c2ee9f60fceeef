import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder for this user alone, and those above it that are missing; nothing where it is.
 * One by one: in Node 20 `mkdir` with `recursive` never ends where a file system says of a folder
 * it has that there is none, as `/proc` does.
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
      // Somebody else made it meanwhile.
      if (!isFolder(folder)) throw error;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
