/** The roles apart, a process each, over Kafka, ClickHouse and Postgres of a run's own. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { settingsOf, startServers, stopServers } from "../servers/all.js";
import { freePort } from "../servers/kafka.js";
import { stopChild, withFolder } from "./processes.js";
import { startRole } from "./service.js";

export interface Installation {
  readonly ingest: URL;
  readonly api: URL;
  readonly adminToken: string;
  /** Of each of its processes. */
  readonly settings: Readonly<Record<string, string>>;
  /** Of all processes that run now, by what they are. */
  pids(): Record<string, number>;
  /** Kills the processors; resolves when others are ready. */
  replaceProcessors(): Promise<void>;
}

/** Begins with one process of each role. */
export function withInstallation<T>(
  profileFolder: string | null,
  use: (installation: Installation) => Promise<T>,
): Promise<T> {
  return withFolder(async (folder) => {
    // Postgres may run as another user, who has to pass.
    await chmod(folder, 0o755);
    const roles: Awaited<ReturnType<typeof startRole>>[] = [];
    const running = await startServers({ folder, freePort });
    try {
      const adminToken = randomBytes(32).toString("hex");
      const settings = {
        ...settingsOf(running),
        VAULT_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
        ADMIN_TOKEN: adminToken,
      };
      const startOne = async (role: string) => {
        const one = await startRole(role, settings, profileFolder);
        roles.push(one);
        return one;
      };
      const api = await startOne("api");
      const ingest = await startOne("ingest");
      let processors = await startOne("processors");
      return await use({
        ingest: ingest.base,
        api: api.base,
        adminToken,
        settings,
        pids() {
          const { kafka, clickhouse, postgres } = running;
          const children = {
            ingest: ingest.child,
            processors: processors.child,
            api: api.child,
            kafka: kafka.process,
            clickhouse: clickhouse.process,
            postgres: postgres.process,
          };
          const pids = Object.entries(children).map(([name, { pid = 0 }]) => [name, pid] as const);
          return Object.fromEntries(pids);
        },
        async replaceProcessors() {
          const { child } = processors;
          const closed = once(child, "close");
          child.kill("SIGKILL");
          await closed;
          processors = await startOne("processors");
        },
      });
    } finally {
      for (const { child } of roles.reverse()) await stopChild(child);
      await stopServers(running);
    }
  });
}
