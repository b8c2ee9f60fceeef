/** The service as a process of its own, just as `npm start` runs it, on embedded backends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { fileURLToPath } from "node:url";
import { addressOf, running } from "../service-address.js";

export interface ServiceProcess {
  /** `http://localhost:3000` */
  readonly url: string;
  /** Rejects when it ends without being asked to. */
  readonly lost: Promise<never>;
  /** Resolves when it has ended; what it had taken is in its log. */
  stop(): Promise<void>;
}

/** The service did not start; the message is its own, for a person. */
export class ServiceRefused extends Error {
  override readonly name = "ServiceRefused";
}

const program = fileURLToPath(new URL("../../main.js", import.meta.url));
const stopMsMax = 9_500;

/** The demo never works on servers or secrets meant for something else. */
const notInherited = [
  "ADMIN_TOKEN",
  "CLICKHOUSE_CLUSTER",
  "CLICKHOUSE_SHARD_URLS",
  "CLICKHOUSE_URL",
  "DATABASE_URL",
  "KAFKA_BROKERS",
  "PUBLIC_URL",
  "SCHEMA_REGISTRY_URL",
  "STATE_DATABASE_URLS",
  "VAULT_ENCRYPTION_KEY",
  "VAULT_ENCRYPTION_KEY_PREVIOUS",
];

export function demoEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !notInherited.includes(name)));
}

/**
 * @param logFile takes what the service logs
 * @throws ServiceRefused when it cannot start (its port is taken, its folder is in use)
 */
export async function startService(dataFolder: string, logFile: string): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [program], {
    // A group of its own: Ctrl-C reaches the demo, which stops the service when it has let go.
    detached: true,
    env: { LOG_LEVEL: "warn", ...demoEnvironment(process.env), DATA_DIR: dataFolder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const killHard = (): void => void child.kill("SIGKILL");
  process.on("exit", killHard);
  const logged = createWriteStream(logFile, { flags: "a", mode: 0o600 });
  child.stdout.pipe(logged, { end: false });
  const closed = once(child, "close").finally(() => {
    process.off("exit", killHard);
    logged.end();
  });

  child.stderr.pipe(logged, { end: false });
  const url = await addressOf(child.stderr, running, closed, (said) => new ServiceRefused(said));

  let isStopping = false;
  return {
    url,
    lost: closed.then(() => {
      if (isStopping) return new Promise<never>(() => {});
      throw new ServiceRefused(`The service ended by itself; its log is ${logFile}`);
    }),
    async stop() {
      isStopping = true;
      child.kill("SIGTERM");
      const timer = setTimeout(killHard, stopMsMax);
      await closed;
      clearTimeout(timer);
    },
  };
}
