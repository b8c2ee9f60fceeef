/**
 * The servers of docker-compose.yml, each in a container of its own, for people with Docker:
 * `BACKENDS=containers npm test` runs the same suites as `BACKENDS=servers`.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { GenericContainer, Wait } from "testcontainers";
import { parse } from "yaml";
import { z } from "zod";
import { projectFile } from "../../runtime/project-root.js";
import { type ServerName, usualPorts } from "../../ops/servers/names.js";
import { freePort } from "./service-process.js";

const startMsMax = 180_000;

const services = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      environment: z.record(z.string(), z.string()).default({}),
      healthcheck: z.object({ test: z.tuple([z.literal("CMD")], z.string()) }),
    }),
  ),
});

export interface Container {
  /** What the service's setting for it takes. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startContainer(name: ServerName): Promise<Container> {
  const file: unknown = parse(readFileSync(projectFile("docker-compose.yml"), "utf8"), {
    merge: true,
  });
  const service = services.parse(file).services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no ${name}`);
  const password = randomBytes(16).toString("hex");
  const host = await freePort();
  const environment = Object.fromEntries(
    Object.entries(service.environment).map(([key, value]) => [key, filled(value, password)]),
  );
  const started = await new GenericContainer(service.image)
    .withEnvironment({ ...environment, ...(name === "kafka" ? reachableAt(host) : {}) })
    // Kafka reports its clients where it is, so that must be known before it starts.
    .withExposedPorts({ container: name === "kafka" ? host : usualPorts[name], host })
    .withHealthCheck({
      test: ["CMD", ...service.healthcheck.test.slice(1)],
      interval: 1_000,
      timeout: 10_000,
      retries: startMsMax / 1_000,
    })
    .withWaitStrategy(Wait.forHealthCheck().withStartupTimeout(startMsMax))
    .start();
  return {
    url: urlOf[name](`${started.getHost()}:${host}`, password),
    stop: async () => {
      await started.stop();
    },
  };
}

const urlOf: Readonly<Record<ServerName, (at: string, password: string) => string>> = {
  kafka: (at) => at,
  clickhouse: (at, password) => `http://revenue:${password}@${at}`,
  postgres: (at, password) => `postgres://revenue:${password}@${at}/revenue`,
};

/** Its own health check asks at the usual port; we come from outside. */
function reachableAt(port: number): Record<string, string> {
  return {
    KAFKA_LISTENERS: `PLAINTEXT://:9092,OUTSIDE://:${port},CONTROLLER://:9093`,
    KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://localhost:9092,OUTSIDE://localhost:${port}`,
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP:
      "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
    KAFKA_CONTROLLER_QUORUM_VOTERS: "1@localhost:9093",
  };
}

/** The passwords that compose takes from `.env`. */
function filled(value: string, password: string): string {
  return value.replaceAll(/\$\{\w+(?::[-?][^}]*)?\}/g, password);
}
