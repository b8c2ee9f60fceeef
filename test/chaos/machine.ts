/**
 * The whole installation on this machine: three servers, each behind a proxy that can fail, and
 * two processes of each role. Whatever it starts, it ends.
 */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import { startKafka } from "../../ops/servers/kafka.js";
import { startPostgres } from "../../ops/servers/postgres.js";
import type { RoleName } from "../../start.js";
import { openServerFolder, type ServerFolder } from "../real-servers.js";
import { freePort } from "../service-process.js";
import { type RoleTarget, roleTargets, type ServerTarget, serverTargets } from "./plan.js";
import { Proxy } from "./proxy.js";
import { RoleUnit } from "./role-unit.js";
import { ServerUnit, signalTree } from "./server-unit.js";

const readyMsMax = 240_000;
const mebibyte = 1024 * 1024;

interface Ports {
  /** The server's own, and its proxy's. */
  readonly kafka: readonly [number, number];
  readonly clickhouse: readonly [number, number];
  readonly postgres: readonly [number, number];
}

export class Machine {
  readonly adminToken = randomBytes(32).toString("hex");
  readonly vaultKey = randomBytes(32).toString("hex");
  readonly servers = new Map<ServerTarget, ServerUnit>();
  readonly proxies = new Map<ServerTarget, Proxy>();
  readonly roles = new Map<RoleTarget, RoleUnit>();
  #third: RoleUnit | null = null;
  #env: Readonly<Record<string, string>> = {};

  private constructor(readonly folder: ServerFolder) {
    // Also when this process ends by an error nobody expected.
    process.on("exit", () => this.#endAll());
  }

  /** All of it answers when this resolves. */
  static async open(): Promise<Machine> {
    const machine = new Machine(await openServerFolder("chaos"));
    try {
      await machine.#start();
    } catch (error) {
      machine.#endAll();
      throw error;
    }
    return machine;
  }

  server(name: ServerTarget): ServerUnit {
    return of(this.servers, name);
  }
  proxy(name: ServerTarget): Proxy {
    return of(this.proxies, name);
  }
  role(name: RoleTarget): RoleUnit {
    return of(this.roles, name);
  }
  /** Where events are sent, and where figures are asked. */
  get doors(): RoleUnit[] {
    return [this.role("ingest 1"), this.role("ingest 2")];
  }
  get readers(): RoleUnit[] {
    return [this.role("api 1"), this.role("api 2")];
  }
  /** One that comes and goes. */
  async third(): Promise<RoleUnit> {
    this.#third ??= await this.#roleUnit("processors 3", "processors");
    return this.#third;
  }

  /** For who looks at the servers themselves, past the proxies. */
  get directSettings(): Record<string, string> {
    return {
      ...this.#env,
      KAFKA_BROKERS: this.server("kafka").url,
      CLICKHOUSE_URL: this.server("clickhouse").url,
      DATABASE_URL: this.server("postgres").url,
    };
  }

  /** Ends everything by process id. @param keep leaves the folder with the logs */
  async close({ keep }: { readonly keep: boolean }): Promise<void> {
    this.#endAll();
    for (const proxy of this.proxies.values()) await proxy.close();
    if (!keep) await this.folder.remove();
  }

  async #start(): Promise<void> {
    const two = async () => [await freePort(), await freePort()] as const;
    const ports = { kafka: await two(), clickhouse: await two(), postgres: await two() };
    await this.#startServers(ports);
    this.#env = this.#environment(ports);
    await mkdir(join(this.folder.path, "roles"));
    for (const name of roleTargets) {
      const [role] = name.split(" ");
      const unit = await this.#roleUnit(
        name,
        role === "ingest" || role === "api" ? role : "processors",
      );
      this.roles.set(name, unit);
      unit.start();
    }
    await Promise.all([...this.roles.values()].map((unit) => unit.whenReady(readyMsMax)));
  }

  async #startServers(ports: Ports): Promise<void> {
    const under = (name: ServerTarget) => join(this.folder.path, name);
    const [kafkaPort, advertisedPort] = ports.kafka;
    const [rolesPort, controllerPort] = [await freePort(), await freePort()];
    const [clickhouseTcpPort] = [await freePort()];
    const starters = {
      kafka: () =>
        startKafka({
          folder: under("kafka"),
          port: kafkaPort,
          properties: twoListeners({ kafkaPort, rolesPort, advertisedPort, controllerPort }),
        }),
      clickhouse: () =>
        startClickHouse({
          folder: under("clickhouse"),
          httpPort: ports.clickhouse[0],
          tcpPort: clickhouseTcpPort,
        }),
      postgres: () => startPostgres({ folder: under("postgres"), port: ports.postgres[0] }),
    };
    for (const name of serverTargets) {
      this.servers.set(name, new ServerUnit(name, starters[name]));
      const serverPort = name === "kafka" ? rolesPort : ports[name][0];
      this.proxies.set(name, await Proxy.open(ports[name][1], serverPort));
    }
    await Promise.all([...this.servers.values()].map((server) => server.start()));
  }

  #environment(ports: Ports): Record<string, string> {
    return {
      KAFKA_BROKERS: `127.0.0.1:${ports.kafka[1]}`,
      CLICKHOUSE_URL: atPort(this.server("clickhouse").url, ports.clickhouse[1]),
      DATABASE_URL: atPort(this.server("postgres").url, ports.postgres[1]),
      VAULT_ENCRYPTION_KEY: this.vaultKey,
      ADMIN_TOKEN: this.adminToken,
      RATES_REFRESH: "off",
      RATE_LIMIT_REFUSED: "100000",
      LOG_LEVEL: "warn",
      CLICKHOUSE_MEMORY_BYTES: String(500 * mebibyte),
    };
  }

  async #roleUnit(name: string, role: RoleName): Promise<RoleUnit> {
    const folder = join(this.folder.path, "roles");
    return new RoleUnit({ name, role, port: await freePort(), folder, env: this.#env });
  }

  /** At once and without waiting: it may be the last thing this process does. */
  #endAll(): void {
    const roles = [...this.roles.values(), ...(this.#third === null ? [] : [this.#third])];
    for (const role of roles) void role.end("SIGKILL");
    for (const { pid } of this.servers.values()) if (pid !== null) signalTree(pid, "SIGKILL");
  }
}

/** Roles are told of the proxy's port; who checks the figures goes to the broker itself. */
function twoListeners(ports: {
  readonly kafkaPort: number;
  readonly rolesPort: number;
  readonly advertisedPort: number;
  readonly controllerPort: number;
}): Record<string, string> {
  const { kafkaPort, rolesPort, advertisedPort, controllerPort } = ports;
  const own = `PLAINTEXT://127.0.0.1:${kafkaPort}`;
  return {
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    listeners: `${own},ROLES://127.0.0.1:${rolesPort},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `${own},ROLES://127.0.0.1:${advertisedPort}`,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ROLES:PLAINTEXT,CONTROLLER:PLAINTEXT",
  };
}

function atPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.toString();
}

function of<Name, Unit>(units: ReadonlyMap<Name, Unit>, name: Name): Unit {
  const found = units.get(name);
  if (found === undefined) throw new Error(`there is no ${String(name)}`);
  return found;
}
