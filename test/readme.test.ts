/** The papers are promises: tables are compared with the code, the first minute is run. */
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { projectFile } from "../runtime/project-root.js";
import { limits, readConfig, settingNames } from "../config.js";
import { placeDatabase } from "./harness/empty-database.js";

const readme = readFileSync(projectFile("README.md"), "utf8");
const settingsPage = readFileSync(projectFile("docs", "settings.md"), "utf8");
const firstMinute = readFileSync(projectFile("docs", "first-minute.md"), "utf8");
const program = fileURLToPath(new URL("../main.js", import.meta.url));

describe("README.md", () => {
  it("should list every setting with its default in docs/settings.md", () => {
    const defaults = new Map(Object.entries(readConfig({})));
    const reported = rowsOf("Settings").map(([name, value]) => `${name} ${value}`);
    const real = settingNames.map((name) => {
      const value = defaults.get(name);
      return `\`${name}\` ${value === undefined ? "–" : `\`${value}\``}`;
    });
    expect(reported).to.have.ordered.members(real);
  });

  it("should report limits as they are", () => {
    const reported = rowsOf("Limits").map(
      ([what = "", value]) => `${/`(\w+)`\)$/.exec(what)?.[1]} ${value}`,
    );
    const real = reported.map((row) => {
      const [name = ""] = row.split(" ");
      const limit = Object.entries(limits).find(([known]) => known === name)?.[1];
      return `${name} ${limit === undefined ? "is no limit" : shownLimit(name, limit)}`;
    });
    expect(reported).to.deep.equal(real);
  });

  it("should name scripts, files and headings that exist", () => {
    const manifest: { scripts: Record<string, string> } = JSON.parse(
      readFileSync(projectFile("package.json"), "utf8"),
    );
    const scripts = [...readme.matchAll(/\bnpm (?:run )?(start|test|run \w+|\w+)\b/g)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "ci" && name !== "package");
    expect(Object.keys(manifest.scripts)).to.include.members(scripts);
    for (const command of ["npm ci && npm start", "npm ci && npm test"]) {
      expect(readme).to.contain(command);
    }
    for (const page of ["README.md", ...linksOf("README.md").map(([path]) => path)]) {
      if (!page.endsWith(".md")) continue;
      for (const [path, heading] of linksOf(page)) {
        expect(existsSync(projectFile(path)), `${page} links ${path}`).to.equal(true);
        if (heading !== "") expect(headingsOf(path), `${page} links`).to.include(heading);
      }
    }
  });
});

describe("The first minute by curl", function suite() {
  this.timeout(90_000);
  let folder: string;
  let service: ChildProcessByStdio<null, Readable, Readable>;
  let shell: Shell;
  let base: string;

  before(async function start() {
    const missing = ["bash", "curl", "openssl"].filter((tool) => !isInstalled(tool));
    if (missing.length > 0) {
      const sentence = `Install ${missing.join(" and ")} to run what README.md shows.`;
      if (process.env["CI"]) throw new Error(sentence);
      process.stderr.write(`${sentence}\n`);
      this.skip();
    }
    folder = mkdtempSync(join(tmpdir(), "readme-"));
    await placeDatabase(join(folder, "data"));
    const env = {
      PATH: process.env["PATH"],
      UV_THREADPOOL_SIZE: "16",
      DATA_DIR: join(folder, "data"),
      PORT: "0",
      RATES_REFRESH: "off",
      LOG_LEVEL: "error",
    };
    service = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
    base = await addressOf(service);
    shell = new Shell({ PATH: env.PATH, BASE: base, DATA_DIR: env.DATA_DIR });
  });

  after(async () => {
    shell?.end();
    if (service?.exitCode === null) {
      service.kill("SIGTERM");
      await once(service, "exit");
    }
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  for (const { title, script, answer } of stepsOf(firstMinute)) {
    it(`should answer as shown: ${title}`, async () => {
      const expected = patternOf(answer.replaceAll("http://localhost:3000", base));
      // Figures come a moment after the answer "on disk"; what only reads may look again.
      const triesMax = isReading(script) ? readingTriesMax : 1;
      let got = await shell.run(script);
      for (let tries = 1; tries < triesMax; tries += 1) {
        if (expected.test(bare(got))) break;
        await pause(readingPauseMs);
        got = await shell.run(script);
      }
      expect(bare(got), title).to.match(expected);
    });
  }
});

/** A single call without a body. */
function isReading(script: string): boolean {
  return script.startsWith("curl ") && !script.includes(" -d ");
}

const readingPauseMs = 250;
const readingTriesMax = 80;

interface Step {
  readonly title: string;
  readonly script: string;
  readonly answer: string;
}

/** Each ```bash block of the first minute with the ```json block that shows its answer. */
function stepsOf(text: string): Step[] {
  const blocks = [...text.matchAll(/^```bash\n([^]*?)^```\n+```json\n([^]*?)^```$/gm)];
  const scripts = [...text.matchAll(/^```bash$/gm)];
  if (blocks.length === 0 || blocks.length !== scripts.length) {
    throw new Error(
      "every bash block of docs/first-minute.md must be followed by the answer it gets",
    );
  }
  return blocks.map(([, script = "", answer = ""]) => {
    const [, path = "the stream"] = /\/v1\/([\w/$-]+)/.exec(script) ?? [];
    return { title: script.includes("charge.succeeded") ? "webhooks" : path, script, answer };
  });
}

/** `…` stands for what differs; white space is for reading. */
function patternOf(answer: string): RegExp {
  const literal = bare(answer).replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("…", '[^",}]+')}$`);
}

function bare(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

/** One bash for all steps, so that variables and functions last. */
class Shell {
  readonly #bash: ChildProcessByStdio<Writable, Readable, null>;
  #steps = 0;

  constructor(env: Record<string, string | undefined>) {
    this.#bash = spawn("bash", ["-s"], {
      env,
      cwd: projectFile(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#bash.stdout.setEncoding("utf8");
  }

  /** What the script prints. */
  async run(script: string): Promise<string> {
    this.#steps += 1;
    const mark = `end of step ${this.#steps}`;
    let printed = "";
    const read = (chunk: string): void => {
      printed += chunk;
    };
    this.#bash.stdout.on("data", read);
    this.#bash.stdin.write(`{\n${script}\n} < /dev/null\necho; echo "${mark}"\n`);
    while (!printed.includes(mark)) await once(this.#bash.stdout, "data");
    this.#bash.stdout.off("data", read);
    return printed.slice(0, printed.indexOf(mark));
  }

  end(): void {
    this.#bash.stdin.end();
  }
}

/** @throws with what it said when it ends instead */
async function addressOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  for (;;) {
    const url = /Running at (http:\S+)\s/.exec(said)?.[1];
    if (url !== undefined) return url;
    if (child.exitCode !== null) throw new Error(said);
    await Promise.race([once(child.stderr, "data"), once(child, "exit")]);
  }
}

function isInstalled(tool: string): boolean {
  try {
    execFileSync(tool, [tool === "openssl" ? "version" : "--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The cells of the table under a heading, without its head. */
function rowsOf(heading: string): string[][] {
  const [, section = ""] = settingsPage.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const rows = own.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

function shownLimit(name: string, limit: number | bigint): string {
  if (name === "eventEarliest") return new Date(Number(limit)).toISOString().slice(0, 10);
  if (name.endsWith("BytesMax")) return `${Number(limit) / 1024 ** 2} MiB`;
  if (/Ms(Max)?$/.test(name)) return `${Number(limit) / 3_600_000} hours`;
  return limit.toLocaleString("en");
}

/** Links of a page to files of the project, from its root, and to a heading in them. */
function linksOf(page: string): [path: string, heading: string][] {
  const text = readFileSync(projectFile(page), "utf8").replaceAll(/```[^]*?```/g, "");
  return [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(
    ([, path = "", heading = ""]) => [path === "" ? page : join(dirname(page), path), heading],
  );
}

/** As the usual viewers make them from titles. */
function headingsOf(page: string): string[] {
  const text = readFileSync(projectFile(page), "utf8");
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, "")
      .replaceAll(" ", "-"),
  );
}
