/**
 * `npm run ops -- servers [postgres|clickhouse|kafka…] [--folder .servers]`: real servers for
 * development, until Ctrl-C. What the service needs to use them is in the file `env`.
 */
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseWords, UsageError } from "../command-line.js";
import { startClickHouse } from "./clickhouse.js";
import { freePort, startKafka } from "./kafka.js";
import { type ServerName, serverNames, settingOf, usualPorts } from "./names.js";
import { startPostgres } from "./postgres.js";
import type { LocalServer } from "./server.js";

const usage = `npm run ops -- servers [${serverNames.join("|")}…] [--folder <path>]`;

const starters: Readonly<Record<ServerName, (folder: string) => Promise<LocalServer>>> = {
  postgres: async (folder) => startPostgres({ folder, port: await freePort(usualPorts.postgres) }),
  clickhouse: async (folder) =>
    startClickHouse({
      folder,
      httpPort: await freePort(usualPorts.clickhouse),
      tcpPort: await freePort(usualPorts.clickhouseTcp),
    }),
  kafka: async (folder) => startKafka({ folder, port: await freePort(usualPorts.kafka) }),
};

/** @returns the exit code */
export async function serversCommand(words: readonly string[]): Promise<number> {
  const running = new Map<ServerName, LocalServer>();
  // Signals count during the start too, so that nothing is left behind.
  const askedToEnd = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
  try {
    const { names, folder } = readWords(words);
    await mkdir(folder, { recursive: true });
    for (const name of names) {
      running.set(name, await starters[name](join(folder, name)));
      report(`${name} runs`);
    }
    await writeEnvironment(folder, running);
    report(`In another terminal: . ${relative(".", join(folder, "env"))} && npm start`);
    const lost = Array.from(running, async ([name, { process: server }]) => {
      await once(server, "exit");
      throw new Error(`${name} has ended`);
    });
    await Promise.race([askedToEnd, ...lost]);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  } finally {
    for (const server of [...running.values()].reverse()) await server.stop();
  }
}

/** To be sourced by a shell; the secrets are made once and stay. */
async function writeEnvironment(
  folder: string,
  running: ReadonlyMap<ServerName, LocalServer>,
): Promise<void> {
  const path = join(folder, "env");
  const before = await readFile(path, "utf8").catch(() => "");
  const secret = (name: string) =>
    new RegExp(`^export ${name}=(\\w+)$`, "m").exec(before)?.[1] ?? randomBytes(32).toString("hex");
  const lines = [
    ...Array.from(running, ([name, { url }]) => [settingOf[name], url]),
    ...["VAULT_ENCRYPTION_KEY", "ADMIN_TOKEN"].map((name) => [name, secret(name)]),
    ["DATA_DIR", join(folder, "data")],
  ];
  const text = lines.map(([name, value]) => `export ${name}='${value}'\n`).join("");
  await writeFile(path, text.replaceAll(/'(\w+)'/g, "$1"), { mode: 0o600 });
}

/** @throws UsageError */
function readWords(words: readonly string[]) {
  const { values, positionals } = parseWords(usage, {
    args: [...words],
    options: { folder: { type: "string", default: ".servers" } },
    allowPositionals: true,
  });
  const unknown = positionals.find((given) => !serverNames.some((name) => name === given));
  if (unknown !== undefined) throw new UsageError(usage, `There is no server ${unknown}.`);
  const isChosen = (name: string) => positionals.length === 0 || positionals.includes(name);
  // In the environment the folder must be the same wherever the service is started.
  return { names: serverNames.filter(isChosen), folder: resolve(values.folder) };
}

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}
