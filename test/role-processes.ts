/** Processes of one role each, over real servers of this test's own. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startClickHouse } from "../ops/servers/clickhouse.js";
import { startKafka } from "../ops/servers/kafka.js";
import { startPostgres } from "../ops/servers/postgres.js";
import type { LocalServer } from "../ops/servers/server.js";
import type { RoleName } from "../start.js";
import { openServerFolder, type ServerFolder } from "./real-servers.js";
import { freePort, kill, whenReady } from "./service-process.js";

const [entry, withoutEmbedded] = ["../main.js", "without-embedded.js"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

export interface RoleProcess {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:<port>` */
  readonly base: string;
}

export class Installation {
  readonly adminToken = randomBytes(32).toString("hex");
  readonly #vaultKey = randomBytes(32).toString("hex");
  readonly #processes: RoleProcess[] = [];
  readonly #servers: LocalServer[] = [];
  #environment: NodeJS.ProcessEnv = {};

  private constructor(
    private readonly folder: ServerFolder,
    private readonly postgresPort: number,
  ) {}

  static async open(): Promise<Installation> {
    const opened = new Installation(await openServerFolder("roles"), await freePort());
    try {
      await opened.#openServers();
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  async #openServers(): Promise<void> {
    const [kafkaPort, httpPort, tcpPort] = [await freePort(), await freePort(), await freePort()];
    const starting = [
      startKafka({ folder: join(this.folder.path, "kafka"), port: kafkaPort }),
      startClickHouse({ folder: join(this.folder.path, "clickhouse"), httpPort, tcpPort }),
      this.startPostgres(),
    ] as const;
    const started = await Promise.allSettled(starting);
    this.#servers.push(
      ...started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
    );
    const [kafka, clickhouse, postgres] = await Promise.all(starting);
    // Nothing may be made where the process runs: it has no folder of its own.
    await mkdir(join(this.folder.path, "empty"));
    this.#environment = {
      KAFKA_BROKERS: kafka.url,
      CLICKHOUSE_URL: clickhouse.url,
      DATABASE_URL: postgres.url,
      VAULT_ENCRYPTION_KEY: this.#vaultKey,
      ADMIN_TOKEN: this.adminToken,
    };
  }

  /** On the same folder and port each time. */
  startPostgres(): Promise<LocalServer> {
    return startPostgres({ folder: join(this.folder.path, "postgres"), port: this.postgresPort });
  }

  get postgres(): LocalServer {
    const found = this.#servers.find(({ name }) => name === "Postgres");
    if (found === undefined) throw new Error("Postgres does not run");
    return found;
  }

  /** Started anew; the one before has ended. */
  async restartPostgres(): Promise<void> {
    const index = this.#servers.indexOf(this.postgres);
    this.#servers[index] = await this.startPostgres();
  }

  /** Resolves when it is ready. */
  async start(
    role: RoleName,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<RoleProcess> {
    const port = await freePort();
    const child = spawn(process.execPath, ["--import", withoutEmbedded ?? "", entry ?? "", role], {
      cwd: join(this.folder.path, "empty"),
      env: {
        PATH: process.env.PATH,
        ...this.#environment,
        PORT: String(port),
        RATES_REFRESH: "off",
        LOG_LEVEL: process.env.LOG_LEVEL ?? "fatal",
        ...settings,
      },
      stdio: ["ignore", "inherit", "ignore"],
    });
    const started = { child, base: `http://127.0.0.1:${port}` };
    this.#processes.push(started);
    await whenReady(child, port);
    return started;
  }

  async close(): Promise<void> {
    for (const { child } of this.#processes) await kill(child);
    for (const server of this.#servers) await server.stop();
    await this.folder.remove();
  }
}
