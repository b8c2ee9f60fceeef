/**
 * The whole installation on this machine: Kafka, ClickHouse and Postgres, each server behind a
 * proxy that can fail, and two processes of each role. Whatever it starts, it ends.
 */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import { startKafka } from "../../ops/servers/kafka.js";
import { startPostgres } from "../../ops/servers/postgres.js";
import type { LocalServer } from "../../ops/servers/server.js";
import type { RoleName } from "../../start.js";
import { openServerFolder, type ServerFolder } from "../harness/real-servers.js";
import { must } from "../model/readers/json.js";
import { type BrokerPorts, clusterProperties } from "../log/kafka/kafka-cluster.js";
import { freePort } from "../harness/service-process.js";
import {
  type BrokerTarget,
  brokerTargets,
  type RoleTarget,
  roleTargets,
  type ServerTarget,
} from "./plan.js";
import { Proxy } from "../harness/proxy.js";
import { RoleUnit } from "./role-unit.js";
import { ServerUnit, signalTree } from "./server-unit.js";

const readyMsMax = 240_000;
const mebibyte = 1024 * 1024;

/** Of a broker, whose `port` is for those that go past the proxies. */
interface ProxiedBroker extends BrokerPorts {
  readonly name: BrokerTarget;
  /** Where it listens for the proxy, and what the roles are reported. */
  readonly rolesPort: number;
  readonly proxyPort: number;
}

export class Machine {
  readonly adminToken = randomBytes(32).toString("hex");
  readonly vaultKey = randomBytes(32).toString("hex");
  readonly servers = new Map<ServerTarget, ServerUnit>();
  readonly proxies = new Map<ServerTarget, Proxy>();
  readonly roles = new Map<RoleTarget, RoleUnit>();
  #third: RoleUnit | null = null;
  #env: Readonly<Record<string, string>> = {};

  private constructor(
    readonly folder: ServerFolder,
    private readonly brokers: readonly BrokerTarget[],
  ) {
    // Also when this process ends by an error nobody expected.
    process.on("exit", () => this.#endAll());
  }

  /** All of it answers when this resolves. */
  static async open(brokers: number): Promise<Machine> {
    const machine = new Machine(await openServerFolder("chaos"), brokerTargets(brokers));
    try {
      await machine.#start();
    } catch (error) {
      machine.#endAll();
      throw error;
    }
    return machine;
  }

  server(name: ServerTarget): ServerUnit {
    return must(this.servers.get(name), name);
  }
  proxy(name: ServerTarget): Proxy {
    return must(this.proxies.get(name), name);
  }
  role(name: RoleTarget): RoleUnit {
    return must(this.roles.get(name), name);
  }
  /** Where events are sent, and where figures are asked. */
  get endpoints(): RoleUnit[] {
    return [this.role("ingest 1"), this.role("ingest 2")];
  }
  get readers(): RoleUnit[] {
    return [this.role("api 1"), this.role("api 2")];
  }
  get processors(): RoleUnit[] {
    return [this.role("processors 1"), this.role("processors 2")];
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
      KAFKA_BROKERS: this.brokers.map((name) => this.server(name).url).join(","),
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
    await this.#addBrokers();
    await this.#addStores();
    await Promise.all([...this.servers.values()].map((server) => server.start()));
    this.#env = this.#environment();
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

  async #addBrokers(): Promise<void> {
    const ports = await Promise.all(this.brokers.map(brokerPorts));
    for (const [index, properties] of clusterProperties(ports).entries()) {
      const broker = ports[index];
      if (broker === undefined) continue;
      const folder = join(this.folder.path, broker.name.replace(" ", "-"));
      const options = {
        folder,
        port: broker.port,
        properties: { ...properties, ...twoListeners(broker) },
      };
      await this.#add(broker.name, broker.proxyPort, broker.rolesPort, () => startKafka(options));
    }
  }

  async #addStores(): Promise<void> {
    const [httpPort, tcpPort, port] = [await freePort(), await freePort(), await freePort()];
    const clickhouse = { folder: join(this.folder.path, "clickhouse"), httpPort, tcpPort };
    await this.#add("clickhouse", await freePort(), httpPort, () => startClickHouse(clickhouse));
    const postgres = { folder: join(this.folder.path, "postgres"), port };
    await this.#add("postgres", await freePort(), port, () => startPostgres(postgres));
  }

  async #add(
    name: ServerTarget,
    proxyPort: number,
    serverPort: number,
    start: () => Promise<LocalServer>,
  ): Promise<void> {
    this.servers.set(name, new ServerUnit(name, start));
    this.proxies.set(name, await Proxy.open(proxyPort, serverPort));
  }

  #environment(): Record<string, string> {
    const proxied = (name: ServerTarget) => atPort(this.server(name).url, this.proxy(name).port);
    const copies = this.brokers.length;
    return {
      KAFKA_BROKERS: this.brokers.map((name) => `127.0.0.1:${this.proxy(name).port}`).join(","),
      ...(copies > 1 && { KAFKA_REPLICATION: String(copies) }),
      CLICKHOUSE_URL: proxied("clickhouse"),
      DATABASE_URL: proxied("postgres"),
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

async function brokerPorts(name: BrokerTarget): Promise<ProxiedBroker> {
  const [port, controllerPort] = [await freePort(), await freePort()];
  const [rolesPort, proxyPort] = [await freePort(), await freePort()];
  return { name, port, controllerPort, rolesPort, proxyPort };
}

/** Roles are reported the proxy's port; who checks the figures goes to the broker itself. */
function twoListeners(broker: ProxiedBroker): Record<string, string> {
  const own = `PLAINTEXT://127.0.0.1:${broker.port}`;
  const controller = `CONTROLLER://127.0.0.1:${broker.controllerPort}`;
  return {
    listeners: `${own},ROLES://127.0.0.1:${broker.rolesPort},${controller}`,
    "advertised.listeners": `${own},ROLES://127.0.0.1:${broker.proxyPort}`,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ROLES:PLAINTEXT,CONTROLLER:PLAINTEXT",
  };
}

function atPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.toString();
}
