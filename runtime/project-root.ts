/** Finds the project's own files, from the sources and from any build folder. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The absolute path of a file that is read at run time (migrations, fixtures, data). */
export function projectFile(...parts: string[]): string {
  return join(root, ...parts);
}

const root = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(folder: string): string {
  if (existsSync(join(folder, "package.json"))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error(`no package.json above ${import.meta.url}`);
  return findRoot(parent);
}
