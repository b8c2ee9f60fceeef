/**
 * `keep-process.js <name> <folder>`: starts one server, keeps it company, and ends it when told
 * to by SIGTERM or SIGINT. It ends by itself when the server does.
 */
import { once } from "node:events";
import { join } from "node:path";
import { startClickHouse } from "./clickhouse.js";
import { freePort, startKafka } from "./kafka.js";
import { forgetKept, type ServerName, serverNames, usualPorts, writeKept } from "./kept.js";
import { startPostgres } from "./postgres.js";
import type { LocalServer } from "./server.js";

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

const [, , given, folder] = process.argv;
const name = serverNames.find((one) => one === given);
if (name === undefined || folder === undefined) throw new Error("started without its words");
try {
  await keep(name, folder);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function keep(server: ServerName, under: string): Promise<void> {
  // Signals count during the start too, so that nothing is left behind.
  const askedToEnd = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
  const started = await starters[server](join(under, server));
  try {
    const { pid } = started.process;
    if (pid === undefined) throw new Error(`${started.name} has no process`);
    await writeKept(under, { name: server, keeper: process.pid, server: pid, url: started.url });
    await Promise.race([askedToEnd, once(started.process, "exit")]);
  } finally {
    await forgetKept(under, server);
    await started.stop();
  }
}
