import { randomUUID } from "node:crypto";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import {
  type ClickHouse,
  type RowsBatch,
  StoreUnavailable,
} from "../../stores/clickhouse/clickhouse.js";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { jsonRows } from "../../stores/clickhouse/sql-text.js";
import { tabSeparated } from "../../stores/clickhouse/rows.js";
import { migrateClickHouse } from "../../stores/migrations.js";
import { clusterOrigin, engineLimits } from "../harness/backends.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { openTestClickHouse, testFolder, testLogger, testServers } from "../harness/stores.js";
import { type ClusterServers, clusterName, startCluster } from "./cluster-servers.js";
import { numberedBatch, numberedRows, rowsOfNumbered } from "./numbered-batches.js";

describe("Batches of rows appended to ClickHouse", () => {
  let clickhouse: ClickHouse;
  before(async () => {
    clickhouse = await openTestClickHouse();
  });

  const structures = {
    ledger: "workspace String, environment String, payment String, amount Int64",
    unidentified_sides: "workspace String, environment String, pool String",
  };
  const batchOf = (table: keyof typeof structures, workspace: string): RowsBatch => {
    const structure = structures[table];
    const rows = Array.from({ length: 100 }, (_, index) => {
      return { workspace, environment: "live", pool: index, payment: index, amount: 7n };
    });
    return {
      table,
      structure,
      rows: tabSeparated(structure, rows),
      token: workspace,
      mayBeThere: false,
    };
  };
  const countOf = async (table: string, workspace: string): Promise<number> => {
    const [row] = await clickhouse.rows<{ n: string }>(
      `SELECT count() AS n FROM ${table} WHERE workspace = {workspace:String}`,
      { workspace },
    );
    return Number(row?.n);
  };
  /** Beside the first; on the embedded engine there is no other process. */
  const another = async (): Promise<ClickHouse> => {
    const servers = await testServers();
    if (servers === null) return clickhouse;
    return openClickHouse({
      url: servers.clickhouseUrl,
      ...clusterOrigin(servers),
      ...engineLimits,
    });
  };

  for (const mayBeThere of [false, true]) {
    const how = mayBeThere ? "looked for" : "not looked for";
    it(`should be there once when they are sent twice, ${how}`, async () => {
      const batch = { ...batchOf("ledger", randomUUID()), mayBeThere };
      await clickhouse.append(batch);
      await clickhouse.append(batch);
      expect(await countOf("ledger", batch.token)).to.equal(100);
    });

    it(`should be there once when processes send them side by side, ${how}`, async () => {
      const processes = [clickhouse, await another()];
      const batch = { ...batchOf("ledger", randomUUID()), mayBeThere };
      const sent = [1, 2, 3].flatMap(() => processes.map((one) => one.append(batch)));
      await Promise.all(sent);
      expect(await countOf("ledger", batch.token)).to.equal(100);
      if (processes[1] !== clickhouse) await processes[1]?.close();
    });
  }

  it("should be there twice under two tokens", async () => {
    const batch = batchOf("ledger", randomUUID());
    await clickhouse.append(batch);
    await clickhouse.append({ ...batch, token: `${batch.token}-2` });
    expect(await countOf("ledger", batch.token)).to.equal(200);
  });

  it("should be there in two tables under one token", async () => {
    const workspace = randomUUID();
    await clickhouse.append(batchOf("ledger", workspace));
    await clickhouse.append(batchOf("unidentified_sides", workspace));
    expect(await countOf("ledger", workspace)).to.equal(100);
    expect(await countOf("unidentified_sides", workspace)).to.equal(100);
  });

  it("should be there when the engine was killed between noting them and having them", async () => {
    const batch = batchOf("ledger", randomUUID());
    await clickhouse.append(batch);
    for (const node of clickhouse.nodes) {
      // The token stays, as after such an end.
      await node.write(
        `ALTER TABLE ledger DELETE WHERE workspace = {workspace:String}
         SETTINGS mutations_sync = 1`,
        { workspace: batch.token },
      );
    }
    await clickhouse.append(batch);
    expect(await countOf("ledger", batch.token)).to.equal(0);
    const again = { ...batch, mayBeThere: true };
    await Promise.all([1, 2, 3].map(() => clickhouse.append(again)));
    await clickhouse.append(again);
    expect(await countOf("ledger", batch.token)).to.equal(100);
  });

  it("should be there once when the engine lost its note of them", async () => {
    const batch = batchOf("ledger", randomUUID());
    await clickhouse.append({ ...batch, token: `${batch.token}-of-a-lost-note` });
    await clickhouse.append({ ...batch, mayBeThere: true });
    expect(await countOf("ledger", batch.token)).to.equal(100);
  });

  it("should not be taken for a repeat when they come without a token", async () => {
    const workspace = randomUUID();
    const sql = `INSERT INTO ledger (workspace) FORMAT TabSeparated\n${workspace}\n`;
    await clickhouse.nodes[0]?.write(sql);
    await clickhouse.nodes[0]?.write(sql);
    expect(await countOf("ledger", workspace)).to.equal(2);
  });

  const large: [what: string, rows: number, length: number][] = [
    ["more rows than the engine puts in a block by itself", 1_100_000, 1],
    ["8 MB", 50_000, 160],
  ];
  for (const [what, count, length] of large) {
    it(`should be one block, also of ${what}`, async () => {
      const workspace = randomUUID().slice(0, 8);
      const columns = "workspace String, pool String, fact_id String";
      const fact = "x".repeat(length);
      const lines = Array.from(
        { length: count },
        (_, index) => `${workspace}\t${index}\t${fact}\n`,
      );
      const batch = {
        table: "unidentified_sides",
        structure: columns,
        rows: lines.join(""),
        token: workspace,
        mayBeThere: false,
      };
      for (const node of clickhouse.nodes)
        await node.write("SYSTEM STOP MERGES unidentified_sides");
      try {
        await clickhouse.append(batch);
        await clickhouse.append(batch);
        let found = 0;
        for (const node of clickhouse.nodes) {
          const [row] = await node.rows<{ n: string; parts: string }>(
            `SELECT count() AS n, uniqExact(_part) AS parts FROM unidentified_sides
             WHERE workspace = {workspace:String}`,
            { workspace },
          );
          found += Number(row?.n);
          expect(row?.parts).to.equal("1");
        }
        expect(found).to.equal(count);
      } finally {
        for (const node of clickhouse.nodes) {
          await node.write("SYSTEM START MERGES unidentified_sides");
        }
      }
    });
  }

  const texts = [
    "",
    " ",
    "a\tb\nc\rd\0e\\",
    "\\N",
    "\\",
    "\\\\'\\t",
    'it\'s "quoted" `q`',
    "'), ('",
    "é😀\u2028\u{1F468}\u200D\u{1F469}",
    "$text$ '{a:String}' -- /*",
    "FORMAT TabSeparated\n",
    "null",
    "\b\f\v\u007f\u0001",
  ];
  /** The columns and rows of tables in which every type that is used occurs. */
  const tables: [table: string, columns: string, rowOf: (text: string, index: number) => object][] =
    [
      [
        "transactions",
        `workspace String, environment String, timestamp DateTime64(3, 'UTC'), provider String,
         payment String, gross_amount Int64, tax_amount Nullable(Int64), fee_amount Nullable(Int64),
         backfill UInt8`,
        (text, index) => ({
          timestamp: [1_700_000_000_123, new Date(999_999_999_999), "2026-11-20 10:00:00.120"][
            index % 3
          ],
          provider: "stripe",
          payment: text,
          gross_amount: -9_007_199_254_740_993n,
          tax_amount: index % 2 === 0 ? null : "9007199254740993",
          fee_amount: index,
          backfill: 1,
        }),
      ],
      [
        "mrr_movements",
        `workspace String, environment String, account String, vintage Date, mrr Decimal(38, 6),
         accounts Int32`,
        (text, index) => ({
          account: text,
          vintage: "2026-02-01",
          mrr: ["-12345678901234567890123456.123456", "0.000001", "7"][index % 3],
          accounts: -1,
        }),
      ],
      [
        "subscription_changes",
        `workspace String, environment String, account String,
         phase Enum8('expired' = -1, 'started' = 0, 'changed' = 1, 'ended' = 2),
         steps Array(Tuple(at DateTime64(3, 'UTC'), items Array(Tuple(
           item String, external_id String, price String, mrr Decimal(38, 6)))))`,
        (text, index) => {
          const item = {
            item: text,
            external_id: `${text}${text}`,
            price: text,
            mrr: "1234567.000001",
          };
          return {
            account: text,
            phase: "expired",
            steps: [
              { at: "2026-11-20 10:00:00.123", items: [item, { ...item, mrr: "-0.5" }] },
              { at: 999_999_999_999, items: [] },
            ].slice(0, index % 3),
          };
        },
      ],
    ];
  for (const [table, columns, rowOf] of tables) {
    it(`should have the values they were given, in ${table}`, async () => {
      const [one, other] = [randomUUID(), randomUUID()];
      const rowsOf = (workspace: string) =>
        texts.map((text, index) => ({ workspace, environment: text, ...rowOf(text, index) }));
      const rows = tabSeparated(columns, rowsOf(one));
      await clickhouse.append({ table, structure: columns, rows, token: one, mayBeThere: true });
      await clickhouse.append({ table, structure: columns, rows, token: one, mayBeThere: true });
      const names = Object.keys(rowsOf(other)[0] ?? {}).join(", ");
      await clickhouse.write(
        `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${jsonRows(columns, rowsOf(other))}`,
      );
      const read = (workspace: string) =>
        clickhouse.rows<{ environment: string }>(
          `SELECT * EXCEPT workspace FROM ${table} WHERE workspace = {workspace:String}
           ORDER BY ALL`,
          { workspace },
        );
      const found = await read(one);
      expect(found).to.eql(await read(other));
      expect(found.map(({ environment }) => environment)).to.have.members(texts);
    });
  }

  const numberedMax = 120;
  const allOnce = {
    total: numberedMax * rowsOfNumbered,
    different: numberedMax * rowsOfNumbered,
  };

  it("should each be there once when an embedded engine is killed amid them", async function () {
    this.timeout(120_000);
    const path = join(testFolder, "clickhouse-of-appends");
    const program = fileURLToPath(new URL("./append-process.js", import.meta.url));
    const sent: unknown[] = [];
    /** @returns the first that was not answered */
    const run = async (first: number, killedAt?: number): Promise<number> => {
      const child = fork(program, [path, String(first), String(numberedMax)]);
      let next = first;
      child.on("message", (message) => {
        sent.push(message);
        if (typeof message === "number") next = message + 1;
        // Amid the one after it.
        if (message === killedAt) setTimeout(() => child.kill("SIGKILL"), next % 7);
      });
      await once(child, "exit");
      return next;
    };
    let next = 0;
    for (const killedAt of [5, 11, 24, 40, 61]) {
      next = await run(next, killedAt);
      expect(next).to.be.within(killedAt + 1, numberedMax - 1);
    }
    await run(next);
    expect(sent.at(-1)).to.eql(allOnce);
    // Once more the last, as by a process that was stopped there.
    await run(numberedMax - 1);
    expect(sent.at(-1)).to.eql(allOnce);
  });

  describe("on servers that are killed", () => {
    const own = suiteOnServers("clickhouse-appends", ["clickhouse"]);
    let servers: ClusterServers;
    before(async function () {
      this.timeout(120_000);
      servers = own.keep(await startCluster(own.folder, 2));
    });

    const origins: [where: string, database: string, more: () => object][] = [
      ["one server", "alone", () => ({})],
      ["a cluster", "shared", () => ({ cluster: clusterName, shardUrls: servers.urls })],
    ];
    for (const [where, database, more] of origins) {
      it(`should each be there once on ${where}`, async function () {
        this.timeout(120_000);
        const url = `${servers.urls[0]}/${database}`;
        const store = await openClickHouse({ url, ...more(), ...engineLimits });
        await migrateClickHouse(store, testLogger);
        const kill = async (index: number): Promise<void> => {
          await servers.kill(index);
          await servers.start(index);
        };
        const kills = new Map([
          [20, 0],
          [40, 1],
          [60, 0],
          [80, 0],
        ]);
        const begun: Promise<void>[] = [];
        let repeats = 0;
        for (let number = 0; number < numberedMax; number += 1) {
          const index = kills.get(number);
          if (index !== undefined) setTimeout(() => begun.push(kill(index)), 10);
          for (let mayBeThere = false; ; mayBeThere = true) {
            const sent = [1, 2].map(() => store.append(numberedBatch(number, mayBeThere)));
            const ends = await Promise.allSettled(sent);
            const failed = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
            for (const reason of failed) expect(reason).to.be.instanceOf(StoreUnavailable);
            if (failed.length === 0) break;
            repeats += 1;
          }
        }
        await Promise.all(begun);
        expect(await numberedRows(store)).to.eql(allOnce);
        expect(repeats).to.be.above(0);
        await store.close();
      });
    }
  });
});
