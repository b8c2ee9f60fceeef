/** `npm run ops -- servers`: real servers in the background. */
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { readConfig } from "../../config.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { startServer } from "../../ops/servers/server.js";
import { rejection } from "../harness/promises.js";
import {
  needServers,
  needTime,
  openServerFolder,
  type ServerFolder,
} from "../harness/real-servers.js";
import { testLogger } from "../harness/stores.js";

const entry = fileURLToPath(new URL("../../main.js", import.meta.url));

describe("Servers in the background", function suite() {
  this.timeout(120_000);
  let folder: ServerFolder;
  before(async function () {
    needTime(this);
    await needServers(this, "postgres");
    folder = await openServerFolder("background");
  });
  after(async () => {
    if (folder === undefined) return;
    await run("stop");
    await folder.remove();
  });

  const run = async (...words: string[]): Promise<string> => {
    const all = [entry, "ops", "servers", ...words, "--folder", folder.path];
    return (await promisify(execFile)(process.execPath, all)).stdout;
  };

  it("should start, be reported, be used, and end", async () => {
    expect(await run("start", "postgres")).to.match(/^postgres runs, process \d+$/m);
    expect(await run("start", "postgres"), "again").to.match(/^postgres runs, process \d+$/m);
    expect(await run("status")).to.match(/^postgres runs, .*\nclickhouse does not run\n/);

    const file = join(folder.path, "env");
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const settings = readConfig(exportsOf(readFileSync(file, "utf8")));
    expect(settings.VAULT_ENCRYPTION_KEY).to.match(/^[0-9a-f]{64}$/);
    expect(settings.KAFKA_BROKERS).to.equal(undefined);
    const url = settings.DATABASE_URL ?? "";
    const postgres = await openPostgres({ url }, testLogger);
    await postgres.query("CREATE TABLE kept (n int4)");
    await postgres.close();

    expect(await run("stop", "postgres")).to.equal("postgres has ended\n");
    expect(await run("status", "postgres")).to.equal("postgres does not run\n");
    await run("start", "postgres");
    const again = readConfig(exportsOf(readFileSync(file, "utf8")));
    expect(again.VAULT_ENCRYPTION_KEY).to.equal(settings.VAULT_ENCRYPTION_KEY);
    const reopened = await openPostgres({ url: again.DATABASE_URL ?? "" }, testLogger);
    expect(await reopened.query("SELECT * FROM kept")).to.eql([]);
    await reopened.close();
  });

  it("should report the end of the log of one that does not start", async () => {
    const starting = startServer({
      name: "Echo",
      url: "",
      command: ["bash", "-c", "seq 30; echo no disk >&2; exit 1"],
      logFile: join(folder.path, "echo.log"),
      isReady: () => Promise.resolve(false),
    });
    const reported = String(await rejection(starting));
    expect(reported).to.include("Echo ended while starting");
    expect(reported).to.match(/which ends with:\n12\n13\n[\d\n]*30\nno disk$/);
  });

  for (const words of [[], ["start", "oracle"], ["begin"], ["start", "kafka", "more"]]) {
    it(`should say how it is called, not do "${words.join(" ")}"`, async () => {
      const refused = await run(...words).catch((error: unknown) => error);
      expect(refused).to.include({ code: 2 });
      expect(String(refused)).to.include("servers start|stop|status");
    });
  }
});

/** `export NAME='value'` lines. */
function exportsOf(text: string): Record<string, string> {
  const lines = text.matchAll(/^export (\w+)='?([^'\n]*)'?$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}
