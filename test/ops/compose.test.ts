/** docker-compose.yml, Dockerfile and .env.example, held against what the tests run. */
import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { z } from "zod";
import { projectFile } from "../../runtime/project-root.js";
import { readConfig, settingNames, embeddedBackends } from "../../config.js";
import { commands } from "../../ops/commands.js";
import { kafkaVersion } from "../../ops/servers/kafka.js";
import { settingOf, usualPorts } from "../../ops/servers/names.js";
import { roleNames } from "../../start.js";
import { openTestClickHouse, openTestPostgres } from "../harness/stores.js";

const composeFile = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      command: z.array(z.string()).optional(),
      ports: z.array(z.string()).optional(),
      // Null: as the environment of compose has it.
      environment: z.record(z.string(), z.string().nullable()).default({}),
      mem_limit: z.string(),
      logging: z.object({ driver: z.string(), options: z.record(z.string(), z.string()) }),
      healthcheck: z.object({ test: z.array(z.string()) }),
      volumes: z.array(z.string()).optional(),
      depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
});

const text = (...parts: string[]) => readFileSync(projectFile(...parts), "utf8");

describe("The containers", () => {
  const composeText = text("docker-compose.yml");
  const { services, volumes } = composeFile.parse(parse(composeText, { merge: true }));
  const dockerfile = text("Dockerfile");

  /** As compose does, with values for what `.env.example` leaves to people. */
  const filled = (value: string) =>
    value.replaceAll(/\$\{(\w+)(?::[-?][^}]*)?\}/g, (_all, name: string) =>
      name === "PUBLIC_URL" ? "http://localhost:3001" : "0".repeat(64),
    );

  for (const role of roleNames) {
    it(`should run ${role} on servers alone, with settings there are`, () => {
      const service = services[role];
      expect(service?.command).to.eql([role]);
      const given = Object.entries(service?.environment ?? {});
      // The others are of the container, or of embedded stores.
      const own = ["PORT", "DATA_DIR", "RAW_RETENTION_BYTES"];
      expect(given.map(([name]) => name)).to.have.members(
        settingNames.filter((name) => !own.includes(name)),
      );
      const config = readConfig(
        Object.fromEntries(given.map(([name, value]) => [name, filled(value ?? "")])),
      );
      expect(embeddedBackends(config)).to.eql([]);
      const port = String(config.PORT);
      expect(service?.healthcheck.test.join(" ")).to.include(`127.0.0.1:${port}/readyz`);
      for (const published of service?.ports ?? [])
        expect(published).to.match(/^127\.0\.0\.1:\d+:3000$/);
      expect(dockerfile).to.match(new RegExp(`^EXPOSE ${port}$`, "m"));
    });
  }

  for (const name of ["kafka", "clickhouse", "postgres"] as const) {
    it(`should keep what ${name} stores, and let the roles find it where it listens`, () => {
      expect(services[name]?.volumes?.map((one) => one.split(":")[0])).to.eql([name]);
      expect(volumes).to.have.property(name);
      for (const role of roleNames) {
        const url = services[role]?.environment[settingOf[name]];
        expect(url).to.match(new RegExp(`(^|@)${name}:${usualPorts[name]}(/|$)`));
        expect(services[role]?.depends_on?.[name]).to.eql({ condition: "service_healthy" });
      }
    });
  }

  it("should pin the versions that the tests run", async () => {
    const clickhouse = await openTestClickHouse();
    const [engine] = await clickhouse.rows<{ version: string }>("SELECT version() AS version");
    const tagOf = (name: string) => services[name]?.image.split(":")[1];
    expect(tagOf("kafka")).to.equal(kafkaVersion);
    expect(engine?.version).to.match(new RegExp(`^${tagOf("clickhouse")}\\.`));
    if (process.env.TEST_DATABASE_URL === undefined) {
      const postgres = await openTestPostgres();
      const [server] = await postgres.query<{ server_version: string }>("SHOW server_version");
      expect(server?.server_version).to.match(new RegExp(`^${tagOf("postgres")}\\b`));
    }
    const nodes = new Set([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image));
    expect([...nodes]).to.have.length(1);
    expect([...nodes][0]).to.match(/^node:24\.\d+\.\d+-bookworm-slim$/);
    for (const { image } of Object.values(services)) {
      expect(image).to.match(/^revenue-aggregation-service$|:\d+\.\d+(\.\d+)?$/);
    }
  });

  it("should bound the memory and the logs of each", () => {
    for (const [name, { logging, mem_limit: memory }] of Object.entries(services)) {
      expect(memory, name).to.match(/^\d+[gm]$/);
      expect(logging.options, name).to.have.keys("max-size", "max-file");
    }
  });

  it("should send each path through the proxy to the role that serves it", () => {
    const caddy = text("ops", "proxy", "Caddyfile");
    expect(caddy).to.include("@ingest path /v1/webhooks/* /v1/events/ingest\n");
    expect(caddy)
      .to.include("reverse_proxy @ingest ingest:3000")
      .and.include("reverse_proxy api:3000");
  });

  it("should set up Kafka as the tests do", () => {
    const source = text("ops", "servers", "kafka.ts");
    const reported = new Map(
      [...source.matchAll(/^ {4}"([a-z.]+)": "([^"]+)",$/gm)].map(([, name = "", value]) => [
        name,
        value,
      ]),
    );
    const compared = Object.entries(services.kafka?.environment ?? {}).flatMap(([name, given]) => {
      const value = given ?? "";
      const property = name
        .replace(/^KAFKA_/, "")
        .toLowerCase()
        .replaceAll("_", ".");
      // One node here and there, under names of their own.
      return reported.has(property) && property !== "node.id" ? [[property, value]] : [];
    });
    expect(compared).to.have.length.of.at.least(6);
    expect(compared).to.eql(compared.map(([name = ""]) => [name, reported.get(name)]));
  });

  it("should ask people for all that it needs, and for nothing else", () => {
    const asked = [...text(".env.example").matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    const used = [...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
    expect(new Set(asked)).to.eql(new Set(used));
  });

  it("should have no embedded engine in the image, and all that is imported", () => {
    const left = /npm pkg delete (.*) devDependencies/.exec(dockerfile)?.[1]?.split(" ") ?? [];
    const omitted = left.map((name) => name.replace("dependencies.", ""));
    expect(omitted).to.have.members(["chdb", "lmdb", "@electric-sql/pglite"]);
    const manifest = z
      .object({ dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(text("package.json")));
    const packages = packagesOf("main.ts");
    expect(packages).to.include("pg");
    expect(packages.filter((name) => omitted.includes(name))).to.eql([]);
    expect(packages.filter((name) => !(name in manifest.dependencies))).to.eql([]);
  });

  it("should run the commands that operating.md runs in it", () => {
    const reported = [...text("docs", "operating.md").matchAll(/^docker compose run (.*)$/gm)];
    expect(reported.map(([, words = ""]) => / ops (\S+)/.exec(words)?.[1])).to.include.members([
      "backup",
      "restore",
      "audit",
      "replay",
      "rotate-key",
    ]);
    for (const [line, words = ""] of reported) {
      const run = /^--rm (?:-v "\$PWD\/\w+:(\/\w+)" )?(\w+) ops (\S+)(.*)$/.exec(words);
      const [, folder, service = "", name = "", options = ""] = run ?? [];
      expect(services[service]?.image, line).to.equal(services.api?.image);
      const known = Object.entries(commands).find(([command]) => command === name)?.[1].options;
      const given = [...options.matchAll(/ --(\S+)/g)].map(([, option = ""]) => option);
      expect(known, line).to.include.members(given);
      // The rest of its disk is read-only and gone when the command ends.
      expect(/ --(?:to|from) (\/\w+)/.exec(options)?.[1], line).to.equal(folder);
    }
    expect(dockerfile).to.match(/^ENTRYPOINT \["node", "dist\/main.js"\]$/m);
    const removed = /rm -rf (.*)$/m.exec(dockerfile)?.[1]?.split(" ") ?? [];
    expect(removed).not.to.eql([]);
    const needed = modulesOf("main.ts").filter((path) =>
      removed.some((folder) => `dist/${path}`.startsWith(`${folder}/`)),
    );
    expect(needed).to.eql([]);
  });

  it("should have every file in the image that is read at run time", () => {
    const read = modulesOf("main.ts")
      .map((path) => [path, text(path)] as const)
      .flatMap(([path, source]) =>
        [...source.matchAll(/projectFile\(\s*"([^"]+)"(?:, "([^"]+)")?/g)].map(
          ([, folder = "", next = ""]) => [path, folder, next] as const,
        ),
      )
      .filter(([path]) => !path.startsWith("ops/servers/"));
    expect(read).not.to.eql([]);
    const missing = read.filter(
      ([, folder, next]) =>
        !new RegExp(`^COPY .*\\b${folder}(/${next})?[ /]`, "m").test(dockerfile),
    );
    expect(missing).to.eql([]);
  });
});

/** What only an embedded backend loads (runtime/start/open.ts and its neighbours). */
const embedded = [
  "stores/log/lmdb/lmdb-log.ts",
  "stores/postgres/pglite.ts",
  "stores/clickhouse/embedded.ts",
  "ops/servers/command.ts",
];

/** The file and all it imports of ours, statically or not, but for embedded backends. */
function modulesOf(start: string): string[] {
  const found = new Set<string>();
  const waiting = [start];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path) || embedded.includes(path)) continue;
    found.add(path);
    for (const name of importsOf(path)) {
      if (name.startsWith(".")) waiting.push(join(dirname(path), name).replace(/\.js$/, ".ts"));
    }
  }
  return [...found];
}

function packagesOf(start: string): string[] {
  const names = modulesOf(start)
    .flatMap(importsOf)
    .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"))
    .filter((name) => !builtinModules.includes(name));
  return [...new Set(names)];
}

/** Type imports are gone when it runs. */
function importsOf(path: string): string[] {
  const pattern =
    /(?:^(?:import|export)\s(?!type\b)[^;"'`]*?from\s|^import\s|\bimport\(\s*)["']([^"']+)["']/gm;
  return [...text(path).matchAll(pattern)].map(([, name = ""]) => name);
}
