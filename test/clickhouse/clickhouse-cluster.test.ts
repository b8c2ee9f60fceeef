/** Two ClickHouse servers on this machine as one cluster, while they are killed and stopped. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { sumSettingsSql } from "../../api/reading/query.js";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { eachShard, shardKeys } from "../../stores/clickhouse/cluster/shard-statements.js";
import { literal } from "../../stores/clickhouse/sql-text.js";
import { type ClickHouse, StoreUnavailable } from "../../stores/clickhouse/clickhouse.js";
import { migrateClickHouse } from "../../stores/migrations.js";
import { ConfigError } from "../../config.js";
import { clusterName, type ClusterServers, startCluster } from "./cluster-servers.js";
import { rejection } from "../harness/promises.js";
import { grantsOf } from "./manual-grants.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { testLogger } from "../harness/stores.js";
import { expectMigrated, pauseServer, untilDone, writeAmid } from "./torments.js";

/** Of the cluster and the database too, as docs/operating.md has them. */
const user = "revenue";
const limits = { memoryBytes: 1_000_000_000, threads: 2, patienceMs: 0 };

describe("A ClickHouse cluster", function suite() {
  this.timeout(240_000);
  const own = suiteOnServers("cluster", ["clickhouse"]);
  let servers: ClusterServers;
  let clickhouse: ClickHouse;

  before(async function begin() {
    const options = {
      clusters: { turned: [[1], [0]], half: [[0]], replicated: [[0, 1]] },
      user: {
        name: user,
        password: "secret",
        grants: grantsOf("A ClickHouse cluster", user).needed,
      },
      profile: { skip_unavailable_shards: "1", distributed_product_mode: "local" },
    };
    servers = own.keep(await startCluster(own.folder, 2, options));
    // Its user may not make databases.
    await open(user);
    const urls = servers.urls.map((url) => url.replace("//", `//${user}:secret@`));
    clickhouse = await open(user, user, urls);
    await migrateClickHouse(clickhouse, testLogger);
  });

  async function open(
    database: string,
    cluster: string | null = clusterName,
    shardUrls: readonly string[] = servers.urls,
  ): Promise<ClickHouse> {
    const named = cluster === null ? {} : { cluster, shardUrls };
    const url = `${shardUrls[0]}/${database}`;
    return own.keep(await openClickHouse({ url, ...named, ...limits }));
  }

  for (const [table, key] of Object.entries(shardKeys)) {
    it(`should lay each row of ${table} in the shard its key names, once`, async () => {
      const columns = await clickhouse.rows<{ name: string; type: string }>(
        `SELECT name, type FROM system.columns
         WHERE database = currentDatabase() AND table = {table:String}
           AND default_kind != 'MATERIALIZED'
         ORDER BY position`,
        { table },
      );
      const structure = columns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
      await clickhouse.write(
        `INSERT INTO ${table} SELECT * FROM generateRandom(${literal(structure)}, 7, 20, 3)
         LIMIT 1000 SETTINGS max_threads = 1`,
      );
      const rows = await clickhouse.rows<{ shard: number; rows: string; strange: string }>(
        `SELECT _shard_num AS shard, count() AS rows, countIf(${key} % 2 != shard - 1) AS strange
         FROM ${table} GROUP BY shard ORDER BY shard`,
      );
      expect(rows.map(({ shard, strange }) => [shard, strange])).to.eql([
        [1, "0"],
        [2, "0"],
      ]);
      expect(Number(rows[0]?.rows) + Number(rows[1]?.rows)).to.equal(1000);
      await clickhouse.write(`TRUNCATE TABLE ${table}`);
      expect(await clickhouse.rows(`SELECT 1 FROM ${table} LIMIT 1`)).to.eql([]);
    });
  }

  it("should see one state of a shard in all parts of a sum, while rows come in", async () => {
    const part = (sign: string) => `SELECT ${sign}amount AS amount FROM ledger`;
    const parts = ["", "-", "", "-"].map(part).join(" UNION ALL ");
    const sums = `SELECT sum(amount) AS amount FROM ${eachShard(parts)} ${sumSettingsSql}`;
    const read = new AbortController();
    const writing = (async () => {
      for (let round = 0; !read.signal.aborted; round += 1) {
        await clickhouse.write(
          `INSERT INTO ledger (payment, amount)
           SELECT concat('p', toString(number + 4 * ${round})) AS payment, 1 FROM numbers(4)`,
        );
        await pause(5);
      }
    })();
    const found = new Set<unknown>();
    for (let time = 0; time < 20; time += 1) {
      const [row] = await clickhouse.rows<{ amount: string }>(sums);
      found.add(row?.amount);
    }
    read.abort();
    await writing;
    expect([...found]).to.eql(["0"]);
    await clickhouse.write("TRUNCATE TABLE ledger");
  });

  it("should refuse a subquery nobody said is about one shard", async () => {
    const sql = "SELECT 1 FROM ledger WHERE payment IN (SELECT payment FROM ledger)";
    expect(String(await rejection(clickhouse.rows(sql)))).to.include("is denied");
  });

  /** *What is not there yet*; slow, so that something can happen before it ends. */
  const insertOnce = (batch: number): string =>
    `INSERT INTO unidentified_sides (workspace, pool, fact_id)
     SELECT 'w' AS workspace, toString(number) AS pool, toString(number) AS fact_id
     FROM numbers(${100 * batch}, 100)
     WHERE fact_id NOT IN (SELECT fact_id FROM unidentified_sides) AND sleepEachRow(0.0005) = 0`;

  it("should lose and double nothing while its servers are killed and stopped", async () => {
    const stopped = (index: number, meanwhile?: () => Promise<void>) =>
      pauseServer(servers.server(index), meanwhile);
    const restarted = async (index: number): Promise<void> => {
      await servers.kill(index);
      await servers.start(index);
    };
    const torments = new Map<number, () => Promise<void>>([
      [4, () => restarted(1)],
      [8, () => stopped(1)],
      [12, () => restarted(0)],
      [16, () => stopped(0)],
      // The first is there again before the second has done what it was reported.
      [20, () => stopped(1, () => restarted(0))],
    ]);
    const write = (batch: number) => clickhouse.write(insertOnce(batch), {}, "subscriptions");
    await writeAmid(
      torments,
      Array.from({ length: 24 }, (_, batch) => () => write(batch)),
    );
    const sql = "SELECT count() AS total, uniqExact(fact_id) AS different FROM unidentified_sides";
    const read = await untilDone(() => clickhouse.rows(sql));
    expect(read).to.eql([{ total: "2400", different: "2400" }]);
  });

  it("should answer nothing rather than less while a shard is away, and name it", async () => {
    const sums = `SELECT count() AS n FROM ${eachShard("SELECT 1 FROM unidentified_sides")}`;
    const [before] = await clickhouse.rows<{ n: string }>(sums);
    await servers.kill(1);
    for (const sql of [sums, "SELECT count() FROM unidentified_sides", "SELECT * FROM ledger"]) {
      expect(await rejection(clickhouse.rows(sql)), sql).to.be.instanceOf(StoreUnavailable);
    }
    // As a write looks at all of them.
    const [first] = clickhouse.nodes;
    const looked = first?.rows(`SELECT count() FROM ${user}.ledger`) ?? Promise.resolve();
    expect(await rejection(looked)).to.be.instanceOf(StoreUnavailable);
    const failed = await rejection(clickhouse.write(insertOnce(99), {}, "subscriptions"));
    expect(failed).to.be.instanceOf(StoreUnavailable);
    expect(failed instanceof Error && String(failed.cause)).to.include("clickhouse shard 2");
    const away: string[] = [];
    for (const node of clickhouse.nodes) {
      await node.rows("SELECT 1").catch(() => away.push(node.name));
    }
    expect(away).to.eql(["clickhouse shard 2"]);
    expect(await rejection(clickhouse.cluster?.check() ?? Promise.resolve())).to.be.an("error");
    const start = await rejection(open("revenue"));
    expect(start).to.be.instanceOf(ConfigError);
    expect(String(start)).to.include(
      `CLICKHOUSE_SHARD_URLS: no ClickHouse answers at ${servers.urls[1]}`,
    );
    await servers.start(1);
    await untilDone(() => clickhouse.write(insertOnce(99), {}, "subscriptions"));
    await clickhouse.cluster?.check();
    const [after] = await clickhouse.rows<{ n: string }>(sums);
    expect(Number(after?.n)).to.equal(Number(before?.n) + 100);
  });

  it("should run every kind of statement of a migration on each shard", async () => {
    const files = await mkdtemp(join(tmpdir(), "migrations-"));
    const one = await open("statements");
    const name = "migrations_of_a_test";
    await one.write("CREATE VIEW statements.view_of_a_person AS SELECT 1 AS mine");
    const statements: [sql: string, select: string, rows: string | null][] = [
      [
        `CREATE TABLE IF NOT EXISTS rejects (event_id String, at DateTime, n Int64,
           PROJECTION total (SELECT sum(n))) ENGINE = MergeTree ORDER BY event_id`,
        "count() AS v",
        "0",
      ],
      [
        "INSERT INTO rejects SELECT toString(number), '2026-01-01 00:00:00', 1 FROM numbers(3)",
        "sum(n) AS v",
        "6",
      ],
      ["ALTER TABLE rejects ADD COLUMN more String DEFAULT 'a'", "any(more) AS v", "a"],
      ["ALTER TABLE rejects ADD PROJECTION most (SELECT max(n))", "max(n) AS v", "1"],
      ["ALTER TABLE rejects MATERIALIZE PROJECTION most", "max(n) AS v", "1"],
      [
        "ALTER TABLE rejects UPDATE n = 5 WHERE event_id = '1' SETTINGS mutations_sync = 1",
        "sum(n) AS v",
        "14",
      ],
      [
        "ALTER TABLE rejects DELETE WHERE event_id = '2' SETTINGS mutations_sync = 1",
        "count() AS v",
        "4",
      ],
      ["OPTIMIZE TABLE rejects FINAL", "count() AS v", "4"],
      ["ALTER TABLE rejects MODIFY TTL at + INTERVAL 50 YEAR", "count() AS v", "4"],
      ["ALTER TABLE rejects MODIFY SETTING min_compress_block_size = 4096", "count() AS v", "4"],
      ["ALTER TABLE rejects DROP COLUMN more", "count() AS v", "4"],
      ["TRUNCATE TABLE rejects", "count() AS v", "0"],
      ["DROP TABLE rejects", "count() AS v", null],
    ];
    for (const [index, [sql, select, value]] of statements.entries()) {
      const number = String(index + 1).padStart(4, "0");
      await writeFile(join(files, `${number}_${name}.sql`), `${sql};\n`);
      await migrateClickHouse(one, testLogger, files);
      const read = one.rows(`SELECT toString(v) AS v FROM (SELECT ${select} FROM rejects)`);
      if (value === null) expect(String(await rejection(read)), sql).to.include("rejects");
      else expect(await read, sql).to.eql([{ v: value }]);
    }
    const [row] = await one.rows("SELECT count() AS n FROM migrations");
    expect(row).to.eql({ n: String(statements.length) });
    expect(await one.rows("SELECT mine FROM statements.view_of_a_person")).to.eql([{ mine: 1 }]);
    await rm(files, { recursive: true });
  });

  it("should be migrated by several processes at once, and by one that was cut short", async () => {
    const three = await Promise.all([open("made_here"), open("made_here"), open("made_here")]);
    // As if another had ended there.
    await three[0].cluster?.claimShardIdentities();
    await expectMigrated(three);
  });

  const opens: [title: string, open: () => Promise<ClickHouse>, sentence: RegExp][] = [
    ["it does not exist", () => open("revenue", "none"), /knows no cluster none; it has: .*pair/],
    ["it has replicas", () => open("revenue", "replicated"), /shard 1 .* more than one replica/],
    [
      "an address leads elsewhere",
      () => open("revenue", "half"),
      /the server at \S+ is none of the shards of half/,
    ],
    [
      "a shard has no address",
      () => open("revenue", clusterName, servers.urls.slice(0, 1)),
      /no address leads to shard 2 of pair/,
    ],
    [
      "it is left out where its tables are",
      () => open("revenue", null),
      /CLICKHOUSE_CLUSTER: must be set/,
    ],
  ];
  for (const [title, opening, sentence] of opens) {
    it(`should be refused when ${title}`, async () => {
      const error = await rejection(opening());
      expect(error).to.be.instanceOf(ConfigError);
      expect(String(error)).to.match(sentence);
    });
  }

  const starts: [title: string, start: () => Promise<ClickHouse>, sentence: RegExp][] = [
    [
      "its shards are in another order",
      () => open("revenue", "turned"),
      /shard 1 of turned .* holds the rows of shard 2 of those with the weights \[1,1\]/,
    ],
    [
      "it has another number of shards",
      () => open("revenue", "half", servers.urls.slice(0, 1)),
      /shard 1 of half .* with the weights \[1,1\], not of \[1\]/,
    ],
    [
      "a server has lost its tables",
      async () => {
        const one = await open("lost");
        await migrateClickHouse(one, testLogger);
        await one.nodes[1]?.write("DROP DATABASE lost_shard SYNC");
        return open("lost");
      },
      /shard 2 of pair .* has none of the tables the others have/,
    ],
    [
      "the database is that of one server",
      async () => {
        await migrateClickHouse(await open("lone", null), testLogger);
        return open("lone");
      },
      /the database lone at \S+ holds the tables of a server by itself/,
    ],
  ];
  for (const [title, starting, sentence] of starts) {
    it(`should not be migrated when ${title}`, async () => {
      const error = await rejection(migrateClickHouse(await starting(), testLogger));
      expect(error).to.be.instanceOf(ConfigError);
      expect(String(error)).to.match(sentence);
    });
  }
});
