/** Builds the dashboard into `dist/web` when a source is newer than what was built last. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { projectFile } from "../runtime/project-root.js";

const built = projectFile("dist", "web", "index.html");
const sources = [projectFile("web"), projectFile("package-lock.json")];

if (sources.every((path) => existsSync(path)) && isOlder(built, sources)) {
  const { build } = await import("vite");
  await build({ configFile: projectFile("web", "vite.config.ts"), logLevel: "warn" });
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
