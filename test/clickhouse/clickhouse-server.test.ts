import { mkdir } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { readRows, writeRows } from "../../stores/backup/clickhouse-part.js";
import { jsonRows } from "../../stores/clickhouse/sql-text.js";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { appending, serverClient } from "../../stores/clickhouse/server/server.js";
import { type ClickHouse, StoreUnavailable } from "../../stores/clickhouse/clickhouse.js";
import { MigrationRefused, migrateClickHouse } from "../../stores/migrations.js";
import { ConfigError } from "../../config.js";
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { rejection } from "../harness/promises.js";
import { grantsOf } from "./manual-grants.js";
import { serveHttp } from "../harness/loopback.js";
import { Proxy } from "../harness/proxy.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { freePort, kill } from "../harness/service-process.js";
import { testLogger } from "../harness/stores.js";
import { granted, withUsers, xml } from "./server-config.js";
import { expectMigrated, pauseServer, writeAmid } from "./torments.js";

const limits = { memoryBytes: 1_000_000_000, threads: 2, patienceMs: 0 };

describe("A ClickHouse server", () => {
  const own = suiteOnServers("clickhouse", ["clickhouse"]);
  let server: LocalServer;
  let httpPort: number;
  let tcpPort: number;
  let webPage: string;
  const open = async (url: string): Promise<ClickHouse> =>
    own.keep(await openClickHouse({ url, ...limits }));
  /** Beside the usual user one that may read only, and some with few rights. */
  const usersXml = (): string => {
    const password = "secret";
    const { needed, goodToHave } = grantsOf("ClickHouse", "revenue");
    const users = {
      reader: { password, profile: "reading" },
      guest: { password, ...granted(["GRANT SELECT ON default.*"]) },
      maker: { password, ...granted(["GRANT SELECT, INSERT, CREATE TABLE ON half_made.*"]) },
      revenue: { password, ...granted([...needed, ...goodToHave]) },
    };
    return xml(withUsers(own.folder, users, { reading: { readonly: "1" } }));
  };
  const start = async (): Promise<void> => {
    const given = { folder: own.folder, httpPort, tcpPort, config: usersXml() };
    server = own.keep(await startClickHouse(given));
  };
  const killServer = async (): Promise<void> => {
    await kill(server.process);
    await start();
  };
  before(async function () {
    this.timeout(120_000);
    httpPort = await freePort();
    tcpPort = await freePort();
    webPage = await serveHttp("a web page", (_request, response) => response.end("<html>"));
    await start();
  });

  it("should make its database, and migrate it from several processes at once", async () => {
    const url = `${server.url}/made_here`;
    await expectMigrated(await Promise.all([open(url), open(url), open(url)]));
  });

  /** *What is not there yet*; slow, so that another can begin before it ends. */
  const insertOnce = (table: string): string =>
    `INSERT INTO ${table} SELECT number FROM numbers(3)
     WHERE number NOT IN (SELECT n FROM ${table}) AND sleepEachRow(0.2) = 0`;

  it("should run the writes of a lane one after the other, whoever sends them", async () => {
    const processes = await Promise.all([open(server.url), open(server.url), open(server.url)]);
    await processes[0].write("CREATE TABLE together (n UInt64) ENGINE = MergeTree ORDER BY n");
    await Promise.all(processes.map((one) => one.write(insertOnce("together"), {}, "money")));
    expect(await processes[0].rows("SELECT count() AS n FROM together")).to.eql([{ n: "3" }]);
  });

  it("should not count twice what it writes again because the answer was lost", async () => {
    const { proxy, url } = await proxyOf(server);
    const clickhouse = await open(url);
    await clickhouse.write("CREATE TABLE lost (n UInt64) ENGINE = MergeTree ORDER BY n");
    const write = (): Promise<void> => clickhouse.write(insertOnce("lost"), {}, "money");
    const cut = rejection(write());
    await whenRunning(clickhouse, "INSERT INTO lost");
    proxy.cut(1);
    expect(await cut).to.be.instanceOf(StoreUnavailable);
    await write();
    await write();
    expect(await clickhouse.rows("SELECT count() AS n FROM lost")).to.eql([{ n: "3" }]);
    await proxy.close();
    expect(await rejection(clickhouse.rows("SELECT 1"))).to.be.instanceOf(StoreUnavailable);
  });

  it("should lose and double nothing while the server is killed and cut off", async function () {
    this.timeout(120_000);
    const { proxy, url } = await proxyOf(server);
    const clickhouse = await open(url);
    await clickhouse.write("CREATE TABLE torn (n UInt64) ENGINE = MergeTree ORDER BY n");
    const torments = new Map<number, () => Promise<void> | void>([
      [10, () => proxy.cut(1)],
      [20, () => pauseServer(server)],
      [30, () => killServer()],
      [40, () => proxy.cut(1)],
      [50, () => pauseServer(server)],
    ]);
    const writes = Array.from({ length: 60 }, (_, batch) => () => {
      const sql = `INSERT INTO torn SELECT 100 * ${batch} + number AS n FROM numbers(100)
        WHERE n NOT IN (SELECT n FROM torn) AND sleepEachRow(0.0002) = 0`;
      return clickhouse.write(sql, {}, "money");
    });
    await writeAmid(torments, writes);
    const [row] = await clickhouse.rows(
      "SELECT count() AS total, uniqExact(n) AS different FROM torn",
    );
    expect(row).to.eql({ total: "6000", different: "6000" });
    await proxy.close();
  });

  it("should take an append for lost when its connection fell silent", async () => {
    let calls = 0;
    const silent = await serveHttp("a silent server", () => {
      calls += 1;
    });
    const client = serverClient(new URL(silent), "default", limits);
    const engine = appending(client, 200);
    expect(await rejection(engine.write("INSERT INTO t VALUES (1)"))).to.be.instanceOf(
      StoreUnavailable,
    );
    expect(await rejection(engine.text("SELECT 1"))).to.be.instanceOf(StoreUnavailable);
    // The read was tried again, since it changes nothing; the append is for its caller to look for.
    expect(calls).to.equal(4);
    await client.close();
  });

  it("should report an error that comes after the answer began", async () => {
    const clickhouse = await open(server.url);
    const late = "SELECT throwIf(number = 3000000, 'too late') AS no FROM numbers(4000000)";
    expect(String(await rejection(clickhouse.rows(late)))).to.include("too late");
  });

  const refusals: [title: string, url: (base: URL) => string, sentence: RegExp][] = [
    [
      "nobody listens",
      (base) => `http://127.0.0.1:1/${base.pathname}`,
      /no ClickHouse answers at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)/,
    ],
    [
      "the port is that of the native protocol",
      () => `http://127.0.0.1:${tcpPort}`,
      /no ClickHouse answers at .*HTTP port is 8123/,
    ],
    [
      "the user is unknown",
      (base) => `http://nobody:secret@${base.host}`,
      /does not let nobody in: no such user, or another password/,
    ],
    [
      "the user may only read",
      (base) => `http://reader:secret@${base.host}`,
      /CLICKHOUSE_URL: the user reader may only read \(readonly = 1\)/,
    ],
    [
      "the user may not make its database",
      (base) => `http://guest:secret@${base.host}/none`,
      /no database none that guest may see.*CREATE DATABASE none/,
    ],
    [
      "it takes no TLS",
      (base) => `https://${base.host}`,
      /no encrypted connection to https:.*without TLS it begins with http:/,
    ],
    [
      "another server is at its port",
      () => webPage,
      /CLICKHOUSE_URL: the server that answers is not ClickHouse/,
    ],
  ];
  const urlOf = (user: string, database: string): string => {
    const url = new URL(`${server.url}/${database}`);
    [url.username, url.password] = [user, "secret"];
    return url.href;
  };

  it("should say so when the user may not change tables", async () => {
    const owner = await open(`${server.url}/half_made`);
    await owner.write(
      `CREATE TABLE migrations (number UInt32, name String, checksum String) ENGINE = MergeTree
       ORDER BY number`,
    );
    const maker = await open(urlOf("maker", "half_made"));
    const error = await rejection(migrateClickHouse(maker, testLogger));
    expect(error).to.be.instanceOf(MigrationRefused);
    expect(String(error)).to.match(/CLICKHOUSE_URL: this user may not make the tables.*GRANT/);
  });

  it("should do all it does with the GRANTs of the manual", async () => {
    await (await open(`${server.url}/revenue`)).rows("SELECT 1");
    const clickhouse = await open(urlOf("revenue", "revenue"));
    await migrateClickHouse(clickhouse, testLogger);
    const files = `${own.folder}/backup`;
    await mkdir(`${files}/clickhouse`, { recursive: true });
    await writeRows(clickhouse, files);
    await readRows(clickhouse, files);
    const row = { number: 1_000, name: "a", checksum: "b" };
    const rows = jsonRows("number UInt32, name String, checksum String", [row]);
    await clickhouse.write(`INSERT INTO migrations (number, name, checksum) SELECT * FROM ${rows}`);
    await clickhouse.write("KILL QUERY WHERE query_id = 'none' SYNC");
  });

  it("should name the GRANTs that a user lacks, as the statements to run", async () => {
    const error = await rejection(open(urlOf("guest", "default")));
    expect(String(error)).to.include(
      "CLICKHOUSE_URL: the user guest lacks rights; run GRANT INSERT, CREATE TABLE, " +
        "ALTER COLUMN, ALTER INDEX, ALTER PROJECTION, ALTER SETTINGS, TRUNCATE ON default.* " +
        "TO guest; GRANT TABLE ENGINE ON MergeTree TO guest; " +
        "GRANT TABLE ENGINE ON ReplacingMergeTree TO guest; " +
        "GRANT SELECT ON system.processes TO guest",
    );
  });

  for (const [title, url, sentence] of refusals) {
    it(`should say so when ${title}`, async () => {
      const error = await rejection(open(url(new URL(server.url))));
      expect(error).to.be.instanceOf(ConfigError);
      expect(String(error)).to.match(sentence).and.not.include("secret");
    });
  }
});

async function proxyOf(server: LocalServer): Promise<{ proxy: Proxy; url: string }> {
  const proxy = await Proxy.open(0, Number(new URL(server.url).port));
  return { proxy, url: `http://127.0.0.1:${proxy.port}` };
}

async function whenRunning(clickhouse: ClickHouse, beginning: string): Promise<void> {
  for (;;) {
    const running = await clickhouse.rows(
      "SELECT 1 FROM system.processes WHERE startsWith(query, {beginning:String})",
      { beginning },
    );
    if (running.length > 0) return;
    await pause(10);
  }
}
