/**
 * A real ClickHouse server for development and tests, without Docker: the engine of the package
 * `chdb` serves over HTTP and its native protocol from a process of its own.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clickhouseLibrary } from "../../stores/clickhouse/library.js";
import { type LocalServer, startServer } from "./server.js";

export interface ClickHouseOptions {
  /** Its data, its log, its configuration; made when absent. */
  readonly folder: string;
  readonly httpPort: number;
  /** Other nodes of a cluster ask here. */
  readonly tcpPort: number;
  /** The inside of `<clickhouse>` in its configuration file: a cluster, a keeper, users. */
  readonly config?: string;
}

/** Listens on 127.0.0.1 only. */
export async function startClickHouse(options: ClickHouseOptions): Promise<LocalServer> {
  const missing = clickhouseMissing();
  if (missing !== null) throw new Error(missing);
  const data = join(options.folder, "data");
  await mkdir(data, { recursive: true });
  const configFile = join(options.folder, "config.xml");
  const limit = `<max_server_memory_usage>${memoryBytes}</max_server_memory_usage>`;
  await writeFile(configFile, `<clickhouse>${limit}${options.config ?? ""}</clickhouse>\n`);
  const url = `http://127.0.0.1:${options.httpPort}`;
  return startServer({
    name: "ClickHouse",
    url,
    command: [
      // The engine opens its standard input by name, which works for a pipe and not for the
      // socket that Node gives a child. The process id stays that of the server.
      "bash",
      "-c",
      'exec "$@" < <(cat)',
      "bash",
      process.execPath,
      fileURLToPath(new URL("./clickhouse-process.js", import.meta.url)),
      "--config-file",
      configFile,
      "--path",
      data,
      "--listen_host",
      "127.0.0.1",
      "--http_port",
      String(options.httpPort),
      "--tcp_port",
      String(options.tcpPort),
    ],
    logFile: join(options.folder, "server.log"),
    keepsInput: true,
    isReady: async () => (await fetch(`${url}/ping`)).ok,
  });
}

/** Why this platform cannot run it, as a sentence; null when it can. */
export function clickhouseMissing(): string | null {
  if (clickhouseLibrary() !== null) return null;
  return (
    "ClickHouse: the package chdb has no engine for this platform (Linux with glibc and macOS " +
    "have one); set TEST_CLICKHOUSE_URL to a server of your own"
  );
}

/** Enough for the tests; a machine with several servers on it keeps the rest. */
const memoryBytes = 2 * 1024 * 1024 * 1024;
