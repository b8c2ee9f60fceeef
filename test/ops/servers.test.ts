/** `npm run ops -- servers`: real servers until they are told to end. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { type Config, readConfig } from "../../config.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { startServer } from "../../ops/servers/server.js";
import { rejection } from "../harness/promises.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { testLogger } from "../harness/stores.js";

const entry = fileURLToPath(new URL("../../main.js", import.meta.url));

describe("Servers for development", function suite() {
  this.timeout(120_000);
  const own = suiteOnServers("development", ["postgres"]);

  const wordsOf = (words: readonly string[]): string[] =>
    [entry, "ops", "servers", ...words].concat("--folder", own.folder);

  /** Of the environment it writes; `use` has the server, which is then told to end. */
  async function withServer(use: (settings: Config) => Promise<void>): Promise<void> {
    const child = spawn(process.execPath, wordsOf(["postgres"]), {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "close");
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    try {
      while (!said.includes("npm start")) {
        const isOver = await Promise.race([ended, once(child.stdout, "data").then(() => null)]);
        expect(isOver, said).to.equal(null);
      }
      const file = join(own.folder, "env");
      expect(statSync(file).mode & 0o777).to.equal(0o600);
      await use(readConfig(exportsOf(readFileSync(file, "utf8"))));
    } finally {
      child.kill("SIGTERM");
      expect((await ended)[0]).to.equal(0);
    }
  }

  it("should start, be used, end, and go on with what they hold", async () => {
    const keys: unknown[] = [];
    await withServer(async ({ VAULT_ENCRYPTION_KEY, KAFKA_BROKERS, DATABASE_URL = "" }) => {
      expect(VAULT_ENCRYPTION_KEY).to.match(/^[0-9a-f]{64}$/);
      keys.push(VAULT_ENCRYPTION_KEY);
      expect(KAFKA_BROKERS).to.equal(undefined);
      const postgres = await openPostgres({ url: DATABASE_URL }, testLogger);
      await postgres.query("CREATE TABLE kept (n int4)");
      await postgres.close();
    });
    await withServer(async ({ VAULT_ENCRYPTION_KEY, DATABASE_URL = "" }) => {
      expect(keys).to.eql([VAULT_ENCRYPTION_KEY]);
      const postgres = await openPostgres({ url: DATABASE_URL }, testLogger);
      expect(await postgres.query("SELECT * FROM kept")).to.eql([]);
      await postgres.close();
    });
  });

  it("should report the end of the log of one that does not start", async () => {
    const starting = startServer({
      name: "Echo",
      url: "",
      command: ["bash", "-c", "seq 30; echo no disk >&2; exit 1"],
      logFile: join(own.folder, "echo.log"),
      isReady: () => Promise.resolve(false),
    });
    const reported = String(await rejection(starting));
    expect(reported).to.include("Echo ended while starting");
    expect(reported).to.match(/which ends with:\n12\n13\n[\d\n]*30\nno disk$/);
  });

  for (const words of [["oracle"], ["kafka", "--more"]]) {
    it(`should say how it is called, not do "${words.join(" ")}"`, async () => {
      const refused = await promisify(execFile)(process.execPath, wordsOf(words)).catch(
        (error: unknown) => error,
      );
      expect(refused).to.include({ code: 2 });
      expect(String(refused)).to.include("servers [postgres|clickhouse|kafka…]");
    });
  }
});

/** `export NAME='value'` lines. */
function exportsOf(text: string): Record<string, string> {
  const lines = text.matchAll(/^export (\w+)='?([^'\n]*)'?$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}
