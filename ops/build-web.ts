/**
 * Builds the dashboard into `dist/web` when a source is newer than what was built last. Each file
 * is compressed here, once, and not at each start.
 */
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { projectFile } from "../runtime/project-root.js";

const built = projectFile("dist", "web", "index.html");
const isCompressedAlready = /\.(?:png|ico|woff2)$/;
const sources = [projectFile("web"), projectFile("package-lock.json")];

if (sources.every((path) => existsSync(path)) && isOlder(built, sources)) {
  const { build } = await import("vite");
  await build({ configFile: projectFile("web", "vite.config.ts"), logLevel: "warn" });
  compressAll(dirname(built));
}

function compressAll(folder: string): void {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile() || isCompressedAlready.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

function isOlder(file: string, paths: readonly string[]): boolean {
  if (!existsSync(file)) return true;
  const builtAt = statSync(file).mtimeMs;
  return paths.some((path) => newestOf(path) > builtAt);
}

/** ms since 1970; folders count too, so that a removed file is noticed. */
function newestOf(path: string): number {
  const found = statSync(path);
  if (!found.isDirectory()) return found.mtimeMs;
  return readdirSync(path).reduce(
    (newest, name) => Math.max(newest, newestOf(join(path, name))),
    found.mtimeMs,
  );
}
