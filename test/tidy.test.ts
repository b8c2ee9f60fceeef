/** The structure of the project, checked like everything else (after TigerBeetle's tidy.zig). */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { projectFile } from "../runtime/project-root.js";
import { version } from "../runtime/version.js";

const columnsMax = 100;
const scriptsMax = 12;
const decisionPagesMax = 20;

/** Nobody imports these: they are started. */
const entryPoints = [
  /^main\.ts$/,
  /^ops\/[\w-]+\.ts$/,
  /^ops\/servers\/\w+-process\.ts$/,
  /^api\/answers\/thread\.ts$/,
  /\.test\.ts$/,
  /^test\/(log\/log-appender|clickhouse\/append-process|state\/state-worker|fuzz|chaos)\.ts$/,
  /^test\/harness\/without-embedded\.ts$/,
  /^web\/(main\.tsx|vite\.config\.ts)$/,
];

/**
 * The floors of the house, from the top: a room may use the rooms of the floors below, and none of
 * its own floor. At the root lie the start, which knows all, and what all may know.
 */
const floors = [
  ["ops"],
  ["ingest", "processors", "api", "runtime/start"],
  ["http"],
  ["workspaces"],
  ["providers/api"],
  ["stores"],
  ["providers", "runtime"],
  ["schemas"],
];
const roles = ["ingest", "processors", "api"];
const rooms = [...floors.flat(), "web", "test"];
const known = ["config.js", "service.js"];

function roomOf(path: string): string {
  const found = rooms.filter((room) => path.startsWith(`${room}/`));
  return found.toSorted((one, other) => other.length - one.length)[0] ?? "";
}

const floorOf = (room: string): number => floors.findIndex((floor) => floor.includes(room));

function mayImport(path: string, target: string): boolean {
  const [from, to] = [roomOf(path), roomOf(target)];
  if (from === to || from === "" || from === "test") return true;
  // Only types: nothing of the service is in the dashboard.
  if (from === "web") return to === "api" || to === "schemas";
  if (to === "") return from !== "schemas" && known.includes(target);
  // Of a role only the schemas of its answers: what calls the service reads them by these.
  if (from === "ops" && roles.includes(to)) return /^api\/.*schema\.js$/.test(target);
  // What a provider sends is read by pure functions.
  if (from === "providers") return to === "schemas";
  return floorOf(to) > floorOf(from);
}

/** Drivers only the adapters may know: replacing one must be one file. */
const adapters = /^(stores\/(log|state|clickhouse|postgres)|test)\//;
const drivers = ["lmdb", "chdb", "@clickhouse/client", "pg", "@electric-sql/pglite", "kafkajs"];

/** Each ban names its replacement. */
const bans: readonly { pattern: RegExp; where: RegExp; instead: string }[] = [
  { pattern: /\bparseFloat\(/, where: /./, instead: "schemas/money: money is never a float" },
  { pattern: /\.toFixed\(/, where: /./, instead: "schemas/money: decimal text of minor units" },
  {
    pattern: /\bNumber\([^)]*(amount|minor|mrr|monthly)/i,
    where: /^(?!test\/|ops\/|providers\/|schemas\/)\w[\w-]*\//,
    instead: "toJsonNumber of schemas/money, at the edge",
  },
  {
    pattern: /\bMath\.random\(|\brandom(Bytes|UUID|Int)\(/,
    where: /^(processors|providers\/(?!api\/)|schemas)\b/,
    instead: "schemas/ids: the same event makes the same ids",
  },
  {
    pattern: /\bDate\.now\(/,
    where: /^(schemas|providers\/(?!api\/))/,
    instead: "a clock as a parameter",
  },
  { pattern: /\bas any\b/, where: /./, instead: "unknown and a type guard" },
  { pattern: /@ts-(ignore|nocheck|expect-error)/, where: /./, instead: "the right type" },
  { pattern: /\bconsole\./, where: /^(?!main\.ts|test\/|ops\/)/, instead: "runtime/logger" },
  { pattern: /\b(describe|it)\.(only|skip)\(/, where: /./, instead: "run them all" },
  { pattern: /\b(FIXME|TODO)\b/, where: /./, instead: "do it, or open an issue" },
];

describe("the tree", () => {
  it("should import in one direction, and roles never each other", () => {
    const wrong = sources().flatMap(({ path, imports }) =>
      imports.ours
        .filter((target) => !mayImport(path, target))
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).to.deep.equal([]);
  });

  it("should share only types of providers and of the service, and bundle only types", () => {
    const shared = ["runtime/start", "http", "workspaces", "providers/api", "stores"];
    const wrong = sources().flatMap(({ path, text }) =>
      [...text.matchAll(importPattern)].flatMap(([statement, from = ""]) => {
        const target = from.startsWith(".") ? join(dirname(path), from) : null;
        const room = roomOf(path);
        if (target === null || room === "test" || room === "") return [];
        if (/^(?:import|export)\s+type\b/.test(statement)) return [];
        const isLeak = shared.includes(room) && roomOf(target) === "providers";
        const isBundled = room === "web" && roomOf(target) !== "web";
        return isLeak || isBundled || target === "service.js" ? [`${path} imports ${target}`] : [];
      }),
    );
    expect(wrong).to.deep.equal([]);
  });

  it("should keep the drivers inside the adapters", () => {
    const wrong = sources()
      .filter(({ path }) => !adapters.test(path))
      .flatMap(({ path, imports }) =>
        imports.packages
          .filter((name) =>
            drivers.some((driver) => name === driver || name.startsWith(`${driver}/`)),
          )
          .map((name) => `${path} imports ${name}`),
      );
    expect(wrong).to.deep.equal([]);
  });

  it("should know kafkajs in the adapter for Kafka only", () => {
    const wrong = sources()
      .filter(({ imports }) => imports.packages.includes("kafkajs"))
      .map(({ path }) => path)
      .filter((path) => !/^(stores\/log\/kafka|test|docs)\//.test(path));
    expect(wrong).to.deep.equal([]);
  });

  it("should have no file that nobody imports", () => {
    const imported = new Set(sources().flatMap(({ imports }) => imports.ours));
    const dead = sources()
      .map(({ path }) => path)
      .filter((path) => !imported.has(path.replace(/\.tsx?$/, ".js")))
      .filter((path) => !entryPoints.some((pattern) => pattern.test(path)));
    expect(dead).to.deep.equal([]);
  });

  it("should have no circle of imports, those of types included", () => {
    const targets = new Map(
      sources().map(({ path, imports }) => [
        path,
        imports.ours.map((target) => target.replace(/\.js(x?)$/, ".ts$1")),
      ]),
    );
    expect(circlesOf(targets)).to.deep.equal([]);
  });

  it("should register every provider that has a folder", () => {
    const index = readFileSync(projectFile("providers", "index.ts"), "utf8");
    const folders = readdirSync(projectFile("providers"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !["api", "reports"].includes(entry.name))
      .map(({ name }) => name);
    expect(folders).to.include("stripe");
    const missing = folders.filter((name) => !index.includes(`"./${name}/index.js"`));
    expect(missing).to.deep.equal([]);
  });

  it(`should have no line over ${columnsMax} columns`, () => {
    const long = sources().flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) => (line.length > columnsMax ? [`${path}:${index + 1}`] : [])),
    );
    expect(long).to.deep.equal([]);
  });

  it("should hold nothing that is banned", () => {
    const found = sources()
      .filter(({ path }) => path !== "test/tidy.test.ts")
      .flatMap(({ path, text }) =>
        text
          .split("\n")
          .flatMap((line, index) =>
            bans
              .filter(({ pattern, where }) => where.test(path) && pattern.test(line))
              .map(({ instead }) => `${path}:${index + 1} instead: ${instead}`),
          ),
      );
    expect(found).to.deep.equal([]);
  });

  it("should name things, not heap them up", () => {
    const heaps = tracked().filter((path) =>
      /(^|\/)(utils?|helpers?|common|shared|misc)(\/|\.ts$)/.test(path),
    );
    expect(heaps).to.deep.equal([]);
  });
});

describe("the project's papers", () => {
  it("should pin every dependency exactly and keep the scripts few", () => {
    const manifest: unknown = JSON.parse(readFileSync(projectFile("package.json"), "utf8"));
    const loose = ["dependencies", "devDependencies"].flatMap((name) =>
      fieldsOf(manifest, name).filter(([, pinned]) => !/^\d+\.\d+\.\d+$/.test(String(pinned))),
    );
    expect(loose).to.deep.equal([]);
    expect(fieldsOf(manifest, "scripts").length).to.be.within(1, scriptsMax);
  });

  it("should open the changelog with what is pending, then this version and its date", () => {
    const [title, ...rest] = readFileSync(projectFile("CHANGELOG.md"), "utf8").split("\n");
    expect(title).to.match(/^# /);
    const [pending, newest] = rest.filter((line) => line.startsWith("## "));
    expect(pending).to.equal("## Pending");
    expect(newest?.replace(/ \(\d{4}-\d\d-\d\d\)$/, "")).to.equal(`## ${version}`);
    expect(newest).to.match(/\)$/);
  });

  it("should hold no conflict that a merge left", () => {
    const text = tracked().filter((path) => /\.(md|ts|tsx|css|sql|ya?ml|json)$/.test(path));
    const conflicts = text.filter((path) =>
      /^(<{7}|>{7}) /m.test(readFileSync(projectFile(path), "utf8")),
    );
    expect(conflicts).to.deep.equal([]);
  });

  it("should keep decisions by topic, name the refused option and title every page once", () => {
    const decisions = readdirSync(projectFile("docs", "decisions"));
    expect(decisions.length).to.be.within(1, decisionPagesMax);
    for (const name of decisions) {
      expect(name).to.match(/^[a-z][a-z-]+\.md$/);
      const text = readFileSync(projectFile("docs", "decisions", name), "utf8");
      expect(text, name).to.match(/refused|rejected|instead of|not taken/i);
    }
    const pages = tracked().filter((path) => path.endsWith(".md"));
    for (const path of pages) {
      const text = readFileSync(projectFile(path), "utf8").replaceAll(/```[^]*?```/g, "");
      expect(text.match(/^# /gm), path).to.have.lengthOf(1);
    }
  });

  it("should define what comments say is defined", () => {
    const places = placesDefined();
    const isThere = (name: string) => places.some((place) => place.startsWith(name.toLowerCase()));
    const named = sources().flatMap(({ path, text }) =>
      [...text.replaceAll(/\n\s*\*/g, " ").matchAll(/definitions\.md`?,\s+([A-Z][\w\s,]*)/g)].map(
        ([, names = ""]) => ({ path, names: names.trim().replaceAll(/\s+/g, " ") }),
      ),
    );
    expect(named).to.have.length.above(50);
    const missing = named.filter(
      ({ names }) => !isThere(names) && !names.split(/,? and |, /).every(isThere),
    );
    expect(missing).to.deep.equal([]);
  });
});

/** The places on the page of definitions: its headings, what is bold, the first cells of tables. */
function placesDefined(): string[] {
  const page = readFileSync(projectFile("docs", "definitions.md"), "utf8");
  return [...page.matchAll(/^## (.+)$|\*\*(.+?)\*\*|^\| (.+?) \|/gm)].map(
    ([, heading, bold, cell]) => (heading ?? bold ?? cell ?? "").toLowerCase(),
  );
}

interface Source {
  /** From the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: { readonly ours: readonly string[]; readonly packages: readonly string[] };
}

/** Static and re-exporting imports, or those without names, or dynamic ones. */
const importPattern =
  /(?:^(?:import|export)\s[^;"'`]*?from\s|^import\s|\bimport\(\s*)["']([^"']+)["']/gm;

let read: Source[] | undefined;

function sources(): Source[] {
  return (read ??= readSources());
}

function readSources(): Source[] {
  return (
    tracked()
      .filter((path) => /\.tsx?$/.test(path))
      // Examples are programs of their own.
      .filter((path) => !path.startsWith("docs/"))
      .map((path) => {
        const text = readFileSync(projectFile(path), "utf8");
        const names = [...text.matchAll(importPattern)].map(([, name = ""]) => name);
        return {
          path,
          text,
          imports: {
            ours: names
              .filter((name) => name.startsWith("."))
              .map((name) => join(dirname(path), name)),
            packages: names.filter((name) => !name.startsWith(".")),
          },
        };
      })
  );
}

/** Files under version control, or about to be. */
function tracked(): string[] {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", list, { cwd: projectFile(), encoding: "utf8" });
  const deleted = execFileSync("git", ["ls-files", "--deleted"], {
    cwd: projectFile(),
    encoding: "utf8",
  }).split("\n");
  return files.split("\n").filter((path) => path !== "" && !deleted.includes(path));
}

/** Each circle once, as the path that leads back to where it began. */
function circlesOf(targets: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) {
      circles.push([...trail.slice(start), path].join(" → "));
      return;
    }
    if (done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return circles;
}

function fieldsOf(value: unknown, name: string): [string, unknown][] {
  const found = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const inner = found.find(([key]) => key === name)?.[1];
  return typeof inner === "object" && inner !== null ? Object.entries(inner) : [];
}
