/** The program as `npm start` runs it, in a process group of its own as a terminal makes one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const program = fileURLToPath(new URL("../../main.js", import.meta.url));
const packageShape = z.object({ scripts: z.object({ start: z.string() }) });
/** It would replace files that other tests are about to load. */
const build = "npm run build --silent && ";

export interface UnderNpm {
  readonly child: ChildProcess;
  /** What the log says. */
  readonly logged: () => string;
  /** SIGINT to the whole group. @returns the exit code of npm */
  readonly ctrlC: () => Promise<unknown>;
}

/** @param folder for a package with this one's start script, without its build */
export function startUnderNpm(
  folder: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): UnderNpm {
  const own = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  const { start } = packageShape.parse(JSON.parse(own)).scripts;
  if (!start.startsWith(build))
    throw new Error(`npm start does not begin with its build: ${start}`);
  const scripts = { start: start.slice(build.length).replace("dist/main.js", `'${program}'`) };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, scripts }));
  const child = spawn("npm", ["start", "--silent", "--", ...words], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let logged = "";
  child.stdout.on("data", (chunk: Buffer) => (logged += chunk.toString()));
  return {
    child,
    logged: () => logged,
    async ctrlC() {
      const closed = once(child, "close");
      if (child.pid === undefined) throw new Error("npm did not start");
      // It answers some moments before it listens for signals; then it says so.
      while (!logged.includes('"msg":"ready"')) await pause(10);
      process.kill(-child.pid, "SIGINT");
      return (await closed)[0];
    },
  };
}
