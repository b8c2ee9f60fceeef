/** The program as a person runs it: processes, signals, what it says. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { limits } from "../../config.js";
import { placeDatabase } from "../harness/empty-database.js";
import { freePort, whenReady } from "../harness/service-process.js";
import { together } from "../harness/together.js";
import { startUnderNpm } from "../harness/under-npm.js";

const program = fileURLToPath(new URL("../../main.js", import.meta.url));

describe("The program", () => {
  let folder: string;
  const running: Run[] = [];
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "program-"));
  });
  after(() => {
    for (const { child } of running) child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });

  function run(settings: Record<string, string> = {}, roles: string[] = []): Run {
    const child = spawn(process.execPath, [...process.execArgv, program, ...roles], {
      env: {
        PATH: process.env.PATH,
        UV_THREADPOOL_SIZE: "16",
        PORT: "0",
        DATA_DIR: join(folder, "data"),
        RATES_REFRESH: "off",
        ...settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const one = new Run(child);
    running.push(one);
    return one;
  }

  it("should say what its first start made and what is next, and go on with it", async function () {
    // Four starts, of which the first compiles all: on one busy core each takes half a minute.
    this.timeout(240_000);
    const first = run();
    const base = await first.ready();
    const token = readFileSync(join(folder, "data", "admin.token"), "utf8").trim();
    expect(first.said).to.match(/Made .*vault\.key \(mode 0600/);
    expect(first.said).to.contain(`curl -s ${base}/v1/manage/workspaces`);
    expect(first.said + first.logged).to.not.contain(token);
    // Before the address answers, a person knows what is going on.
    expect(first.said).to.match(
      /^A free port opens in a moment; the first start can take half a minute\.\nPreparing the d/,
    );
    expect(first.said).to.match(/Sign in +http:\S+\/setup#\S+\n +makes you the owner;/);
    expect(first.logged).to.match(/^\{.*"msg":"starting"\}\n/);
    expect((await fetch(`${base}/readyz`)).status).to.equal(200);

    const second = run();
    // Reported before anything is made.
    const sameEndpoint = run({ PORT: new URL(base).port, DATA_DIR: join(folder, "other") });
    expect(await second.ended()).to.equal(1);
    expect(second.said).to.match(/is in use by process \d+/);
    expect(await sameEndpoint.ended()).to.equal(1);
    expect(sameEndpoint.said).to.match(/PORT: \d+ is in use; set PORT to another one/);
    expect(existsSync(join(folder, "other"))).to.equal(false);

    // Then it goes on with the same data, also after kill -9.
    const key = readFileSync(join(folder, "data", "vault.key"), "utf8");
    first.child.kill("SIGKILL");
    await first.ended();
    const again = run();
    expect((await fetch(`${await again.ready()}/readyz`)).status).to.equal(200);
    expect(again.said).to.not.contain("Made");
    expect(readFileSync(join(folder, "data", "vault.key"), "utf8")).to.equal(key);
    // SIGTERM is what crash.test.ts ends a process with.
    again.child.kill("SIGINT");
    expect(await again.ended()).to.equal(0);
  });

  // In one folder: what one start left half made the next one goes on with.
  const moments: [signal: NodeJS.Signals, when: string, file: string, holds: string][] = [
    ["SIGINT", "as soon as it has the folder to itself", "lock", ""],
    ["SIGTERM", "while it opens Postgres", "opening", "postgres"],
    ["SIGINT", "while it opens ClickHouse", "opening", "clickhouse"],
  ];
  for (const [signal, when, file, holds] of moments) {
    it(`should stop in order at ${signal} during its start, ${when}`, async function () {
      this.timeout(120_000);
      const data = join(folder, "stopped");
      if (!existsSync(data)) await placeDatabase(data);
      const one = run({ DATA_DIR: data });
      await one.until(() => contentOf(join(data, file))?.includes(holds) === true);
      one.child.kill(signal);
      expect(await one.ended(), one.said).to.equal(0);
      expect(one.logged).to.match(/"msg":"stopping"[^]*"msg":"stopped"/);
      expect(one.logged + one.said).to.not.match(/"msg":"ready"|"level":"(error|fatal)"|ended/);
      expect(["lock", "opening"].filter((left) => existsSync(join(data, left)))).to.eql([]);
    });
  }

  describe("on data of its own, or none", function () {
    this.timeout(120_000);
    const itTogether = together();

    itTogether("should stop in order at Ctrl-C under npm start, which sends it twice", async () => {
      const port = await freePort();
      await placeDatabase(join(folder, "npm-data"));
      const npm = startUnderNpm(join(folder, "npm"), [], {
        ...process.env,
        PORT: String(port),
        DATA_DIR: join(folder, "npm-data"),
        RATES_REFRESH: "off",
        LOG_LEVEL: "info",
      });
      await whenReady(npm.child, port);
      expect(await npm.ctrlC()).to.equal(0);
      expect(npm.logged()).to.match(/"msg":"stopping"[^]*"msg":"stopped"/);
    });

    // Elsewhere `script` has other options.
    (process.platform === "linux" ? itTogether : it.skip)(
      "should greet a person at a terminal with one block, without its log",
      async () => {
        const port = String(await freePort());
        const data = join(folder, "terminal");
        await placeDatabase(data);
        const command = [process.execPath, ...process.execArgv, program].join(" ");
        const terminal = spawn("script", ["--quiet", "--command", command, "/dev/null"], {
          env: {
            PATH: process.env.PATH,
            UV_THREADPOOL_SIZE: "16",
            PORT: port,
            DATA_DIR: data,
            RATES_REFRESH: "off",
          },
          // A session of its own, for which `script` makes the terminal.
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
        });
        const one = new Run(terminal);
        running.push(one);
        await one.until(() => one.logged.includes("Ctrl-C"));
        const shown = one.logged.replaceAll("\r\n", "\n");
        expect(shown).to.match(
          new RegExp(
            `^http://localhost:${port} opens in a moment\\.\nPreparing the database…\n[^]*\n\n` +
              `Revenue is ready\\. Running at http://localhost:${port}\n\n  Sign in  `,
          ),
        );
        expect(shown).to.match(/\n {2}Data +\S+terminal\n[^]*\n {2}Next +open the link, name a /);
        expect(shown).to.not.match(/"level"|INFO/);
        terminal.kill("SIGTERM");
        await one.ended();
      },
    );

    itTogether("should stop in order at SIGTERM while it waits for a server", async () => {
      const server = `localhost:${await freePort()}`;
      const one = run(
        {
          VAULT_ENCRYPTION_KEY: "5ec2e7".repeat(10) + "abcd",
          ADMIN_TOKEN: "secret-".repeat(6),
          DATABASE_URL: `postgres://${server}/revenue`,
          CLICKHOUSE_URL: `http://${server}/revenue`,
          KAFKA_BROKERS: server,
        },
        ["ingest"],
      );
      await one.until(() => one.logged.includes("waiting, it may be starting"));
      const askedAt = performance.now();
      one.child.kill("SIGTERM");
      expect(await one.ended(), one.said).to.equal(0);
      expect(one.logged).to.match(/"msg":"stopping"[^]*"msg":"stopped"/);
      expect(performance.now() - askedAt).to.be.below(limits.stopMsMax);
    });

    const refused: [
      what: string,
      settings: Record<string, string>,
      roles: string[],
      said: RegExp,
    ][] = [
      ["wrong settings, all at once", { PORT: "x", LOG_LEVEL: "y" }, [], /PORT: .*\n.*LOG_LEVEL: /],
      ["a malformed vault key", { VAULT_ENCRYPTION_KEY: "ab" }, [], /openssl rand -hex 32/],
      [
        "a role on its own without servers",
        {},
        ["ingest"],
        /must run all roles; set KAFKA_BROKERS/,
      ],
      ["an unknown role", {}, ["ingest", "dance"], /there is no dance; there are ingest,/],
    ];
    for (const [what, settings, roles, said] of refused) {
      itTogether(`should refuse ${what}, in a sentence`, async () => {
        const one = run({ ...settings, DATA_DIR: join(folder, "never") }, roles);
        expect(await one.ended()).to.equal(1);
        expect(one.said).to.match(said);
        expect(one.said).to.not.contain("    at ");
      });
    }

    itTogether(
      "should check the settings and their servers, print no secret and make nothing",
      async () => {
        const secrets = {
          ADMIN_TOKEN: "secret-".repeat(6),
          VAULT_ENCRYPTION_KEY: "5ec2e7".repeat(10) + "abcd",
          DATABASE_URL: "postgres://user:secret-word@localhost:1/revenue",
          CLICKHOUSE_URL: "http://user:secret-word@localhost:1/revenue",
          KAFKA_BROKERS: "localhost:1",
        };
        const one = run({ ...secrets, PORT: "4000" }, ["check"]);
        expect(await one.ended()).to.equal(1);
        expect(one.logged).to.contain("PORT=4000\n").and.contain("ADMIN_TOKEN=(set)\n");
        expect(one.logged).to.contain("KAFKA_BROKERS: Kafka at localhost:1 cannot be reached");
        expect(one.logged).to.contain(
          "CLICKHOUSE_URL: no ClickHouse answers at http://localhost:1",
        );
        expect(one.logged).to.contain("DATABASE_URL: the server at localhost:1 cannot be reached");
        expect(one.logged).to.not.match(/secret-|5ec2e7/);
      },
    );
  });
});

/** Null: there is no such file. */
function contentOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

class Run {
  /** Standard error, for a person. */
  said = "";
  /** Standard output. */
  logged = "";
  readonly #exit: Promise<unknown[]>;

  constructor(readonly child: ChildProcessByStdio<null, Readable, Readable>) {
    child.stderr.on("data", (chunk: Buffer) => (this.said += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => (this.logged += chunk.toString()));
    this.#exit = once(child, "close");
  }

  /** The exit code; null when a signal ended it. */
  async ended(): Promise<unknown> {
    return (await this.#exit)[0];
  }

  /** @throws when it ends instead */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.child.exitCode !== null) throw new Error(this.said || "it ended");
      await pause(2);
    }
  }

  /** The address it listens at. @throws when it ends instead */
  async ready(): Promise<string> {
    for (;;) {
      const url = /Running at (http:\S+?),?\s/.exec(this.said)?.[1];
      if (url !== undefined) return url;
      const next = await Promise.race([once(this.child.stderr, "data"), this.#exit]);
      if (typeof next[0] === "number" || next[0] === null) throw new Error(this.said || "it ended");
    }
  }
}
