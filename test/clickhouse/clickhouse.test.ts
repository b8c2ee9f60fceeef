import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { tableFileEnding } from "../../stores/clickhouse/table-files.js";
import { Pool } from "../../stores/clickhouse/open.js";
import {
  bind,
  jsonRows,
  literal,
  partLengthMax,
  partsOf,
  type QueryParam,
} from "../../stores/clickhouse/sql-text.js";
import { appendsOf } from "../../stores/clickhouse/rows.js";
import { type ClickHouse, StoreBusy } from "../../stores/clickhouse/clickhouse.js";
import { isStoreAway } from "../../stores/store-away.js";
import { inTrouble } from "../../stores/clickhouse/errors.js";
import { onServers } from "../harness/backends.js";
import { rejection } from "../harness/promises.js";
import { openTestClickHouse, testFolder } from "../harness/stores.js";

const nasty = 'it\'s \\ a\nb\tc\0d {x:String} `q` "p" $$ -- /* é😀\u2028';

describe("ClickHouse", () => {
  let clickhouse: ClickHouse;
  before(async () => {
    clickhouse = await openTestClickHouse();
  });

  const values: [type: string, value: QueryParam, expected: unknown][] = [
    ["String", nasty, nasty],
    ["String", "", ""],
    ["LowCardinality(String)", "a'b", "a'b"],
    ["UInt32", 7, 7],
    ["Int64", "-9223372036854775808", "-9223372036854775808"],
    ["UInt64", "18446744073709551615", "18446744073709551615"],
    ["Decimal(38, 6)", "-12345678901234567890.123456", "-12345678901234567890.123456"],
    ["Bool", true, true],
    ["UInt8", false, 0],
    ["Date", "2026-02-28", "2026-02-28"],
    ["DateTime64(3, 'UTC')", "2026-11-20 23:59:59.999", "2026-11-20 23:59:59.999"],
    ["Nullable(String)", "x", "x"],
    ["Array(String)", [nasty, "", "x"], [nasty, "", "x"]],
    ["Array(String)", [], []],
    ["Array(UInt64)", [], []],
    ["Array(UInt64)", ["18446744073709551615"], ["18446744073709551615"]],
    ["Array(Int32)", [-1, 0, 1], [-1, 0, 1]],
    ["Array(Decimal(38, 6))", ["0.000001"], ["0.000001"]],
  ];
  it("should leave the processors to the main thread first", async function () {
    if (onServers || !existsSync(threadsFolder)) this.skip();
    await clickhouse.rows("SELECT sum(number) FROM numbers_mt(1000000)");
    const ofEngine = readdirSync(threadsFolder).filter((thread) => nameOf(thread) !== "node");
    const priorities = ofEngine.flatMap((thread) => priorityOf(Number(thread)));
    expect(priorities).to.include(getPriority() + 5);
    expect(priorities).to.not.include(getPriority());
  });

  for (const [type, value, expected] of values) {
    it(`should bind ${JSON.stringify(value).slice(0, 40)} as ${type}`, async () => {
      const rows = await clickhouse.rows(`SELECT {v:${type}} AS v`, { v: value });
      expect(rows).to.eql([{ v: expected }]);
    });
  }

  it("should blame itself for what no value of a row causes", async () => {
    const lostTable = rejection(clickhouse.rows("SELECT 1 FROM no_such_table"));
    expect(isStoreAway(await lostTable)).to.equal(true);
    const badValue = rejection(clickhouse.rows("SELECT toDate('no date')"));
    expect(isStoreAway(await badValue)).to.equal(false);
  });

  it("should name errors that say nothing of rows as the engine does", async () => {
    const rows = await clickhouse.rows<{ name: string }>(
      "SELECT errorCodeToName(number) AS name FROM numbers(2000)",
    );
    const known = new Set(rows.map(({ name }) => name));
    expect([...inTrouble].filter((name) => !known.has(name))).to.eql([]);
  });

  it("should bind names, limits and sets", async () => {
    const rows = await clickhouse.rows<{ n: string }>(
      `SELECT number AS n FROM {table:Identifier}.numbers
       WHERE n IN {wanted:Array(UInt64)} AND toString(n) != {not:String}
        ORDER BY n LIMIT {max:UInt8}`,
      { table: "system", wanted: [3, 5, 7, 9], not: "5", max: 2 },
    );
    expect(rows).to.eql([{ n: "3" }, { n: "7" }]);
  });

  it("should not take a placeholder inside a literal, a name or a comment for one", () => {
    const sql =
      "SELECT '{a:String}', `{a:String}`, 'it''s {a:String}', '\\'{a:String}', " +
      "$text$it's {a:String}$text$ -- {a:String}";
    expect(bind(sql, { a: "x" })).to.equal(sql);
    expect(bind("/* {a:String} */ {a:String} -- it's\n {a:String}", { a: "x" })).to.equal(
      "/* {a:String} */ 'x' -- it's\n 'x'",
    );
  });

  it("should refuse a placeholder without a value", () => {
    expect(() => bind("SELECT {a:String}", { b: 1 })).to.throw("no value for {a:String}");
  });

  it("should give all digits of 64-bit integers and decimals, and times in UTC", async () => {
    const rows = await clickhouse.rows(
      `SELECT toInt64('9007199254740993') AS i, toDecimal128('0.100000', 6) AS d,
              fromUnixTimestamp64Milli(1700000000123, 'UTC') AS t`,
    );
    expect(rows).to.eql([{ i: "9007199254740993", d: "0.1", t: "2023-11-14 22:13:20.123" }]);
  });

  it("should write rows given as objects and read them back", async () => {
    const structure = `id String, amount Int64, price Decimal(38, 6), at DateTime64(3, 'UTC'),
      steps Array(Tuple(at DateTime64(3, 'UTC'),
        items Array(Tuple(item String, mrr Decimal(38, 6)))))`;
    const at = new Date("2026-11-20T10:00:00.123Z");
    const rows = Array.from({ length: 3_000 }, (_, index) => ({
      id: `${index} ${nasty}`,
      amount: -9_007_199_254_740_993n,
      price: "1234567890123456789.000001",
      at: index % 2 === 0 ? at : at.getTime(),
      steps: [{ at, items: [{ item: nasty, mrr: "0.5" }] }],
    }));
    const table = `rows_${randomUUID().replaceAll("-", "")}`;
    await clickhouse.write(`CREATE TABLE ${table} (${structure}) ENGINE = MergeTree ORDER BY id`);
    for (const some of [rows, []]) {
      await clickhouse.write(`INSERT INTO ${table} SELECT * FROM ${jsonRows(structure, some)}`);
    }
    const found = await clickhouse.rows(
      `SELECT *, count() OVER () AS n FROM ${table} WHERE id = {id:String}`,
      { id: `2999 ${nasty}` },
    );
    expect(found).to.eql([
      {
        id: `2999 ${nasty}`,
        amount: "-9007199254740993",
        price: "1234567890123456789.000001",
        at: "2026-11-20 10:00:00.123",
        steps: [{ at: "2026-11-20 10:00:00.123", items: [{ item: nasty, mrr: "0.5" }] }],
        n: "1",
      },
    ]);
    expect(await clickhouse.rows(`SELECT count() AS n FROM ${table}`)).to.eql([{ n: "3000" }]);
    await clickhouse.write(`DROP TABLE ${table}`);
  });

  for (const text of ["'{a:String}' -- \\ \" /*", "$text$ '{a:String}'", "$text", "$$text$$"]) {
    it(`should take rows as they are, also with ${text}`, async () => {
      const rows = [{ text }, { text: JSON.stringify({ text }) }];
      const table = jsonRows("text String", rows);
      expect(await clickhouse.rows(`SELECT text FROM ${table}`)).to.eql(rows);
    });
  }

  it("should append rows as they are, whatever stands in them", async () => {
    const texts = [
      nasty,
      "{a:String}",
      "$text$ '",
      "\\N",
      "a\tb\nc\rd\0e\\",
      "FORMAT TabSeparated\n",
      "",
    ];
    const rows = texts.map((text, index) => ({
      id: index,
      text,
      amount: index % 2 === 0 ? null : -9_007_199_254_740_993n,
      at: "2026-11-20 10:00:00.123",
    }));
    const structure = "id UInt32, text String, amount Nullable(Int64), at DateTime64(3, 'UTC')";
    const table = `appended_${randomUUID().replaceAll("-", "")}`;
    await clickhouse.write(`CREATE TABLE ${table} (${structure}) ENGINE = MergeTree ORDER BY id`);
    for (const sql of appendsOf(table, structure, rows)) await clickhouse.write(sql);
    expect([...appendsOf(table, structure, [])]).to.eql([]);
    const found = await clickhouse.rows(`SELECT * FROM ${table} ORDER BY id`);
    expect(found).to.eql(
      rows.map((row) => ({ ...row, amount: row.amount === null ? null : String(row.amount) })),
    );
    await clickhouse.write(`DROP TABLE ${table}`);
  });

  it("should write any number of rows in statements of bounded length", async () => {
    const text = "x".repeat(partLengthMax / 4);
    const rows = Array.from({ length: 10 }, (_, id) => ({ id, text: id === 5 ? "" : text }));
    const table = `parts_${randomUUID().replaceAll("-", "")}`;
    const structure = "id UInt32, text String";
    await clickhouse.write(`CREATE TABLE ${table} (${structure}) ENGINE = MergeTree ORDER BY id`);
    let parts = 0;
    for (const { table: part } of partsOf(structure, rows)) {
      parts += 1;
      expect(part.length).to.be.at.most(partLengthMax + 1_000);
      await clickhouse.write(`INSERT INTO ${table} SELECT * FROM ${part}`);
    }
    expect(parts).to.equal(3);
    expect([...partsOf(structure, [])]).to.eql([]);
    expect(
      await clickhouse.rows(`SELECT count() AS n, sum(length(text)) AS length FROM ${table}`),
    ).to.eql([{ n: "10", length: String(9 * text.length) }]);
    await clickhouse.write(`DROP TABLE ${table}`);
  });

  it("should take a statement far larger than the engine's own limit", async () => {
    const rows = await clickhouse.rows(`SELECT length(${literal("é'\\".repeat(2_000_000))}) AS n`);
    expect(rows).to.eql([{ n: "8000000" }]);
  });

  it("should run reads side by side, so that a slow one holds up no other", async () => {
    const order: string[] = [];
    const slow = clickhouse
      .rows("SELECT sleepEachRow(0.3) FROM {t:Identifier}.numbers LIMIT 3", { t: "system" })
      .then(() => order.push("slow"));
    await Promise.all([1, 2, 3].map(() => clickhouse.rows("SELECT {n:UInt8} AS n", { n: 1 })));
    order.push("quick");
    await slow;
    expect(order).to.eql(["quick", "slow"]);
  });

  it("should run the writes of one lane one after the other, and lanes side by side", async () => {
    const order: string[] = [];
    const write = (name: string, sql: string, lane: "money" | "subscriptions") =>
      clickhouse.write(sql, {}, lane).then(() => order.push(name));
    await Promise.all([
      write("slow money", "SELECT sleep(0.5)", "money"),
      write("money", "SELECT 1", "money"),
      write("subscriptions", "SELECT 1", "subscriptions"),
    ]);
    expect(order).to.eql(["subscriptions", "slow money", "money"]);
  });

  it("should say what the engine refused and go on", async () => {
    expect(await rejection(clickhouse.rows("SELECT nothing"))).to.match(/nothing/);
    expect(await rejection(clickhouse.write("INSERT INTO nowhere SELECT 1"))).to.match(/nowhere/);
    await clickhouse.write("SELECT 1");
    expect(await clickhouse.rows("SELECT 1 AS one")).to.eql([{ one: 1 }]);
  });

  it("should hold inserts on disk before it acknowledges them", async () => {
    const tables = await clickhouse.rows<{ name: string }>(
      `SELECT name FROM system.tables
       WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name NOT LIKE 'rows_%'
         AND create_table_query NOT LIKE
           '%fsync_after_insert = 1, fsync_part_directory = 1%'`,
    );
    expect(tables).to.eql([]);
  });

  it("should keep aggregate projections in step with their rows", async () => {
    const workspace = randomUUID();
    const entry = { workspace, environment: "live", payment: "p", happened_at: Date.now() };
    for (const amount of [500n, -200n]) {
      await clickhouse.write(
        `INSERT INTO ledger (workspace, environment, payment, happened_at, amount)
         SELECT * FROM ${jsonRows(
           `workspace String, environment String, payment String,
             happened_at DateTime64(3, 'UTC'), amount Int64`,
           [{ ...entry, amount }],
         )}`,
        {},
        "money",
      );
    }
    const byDay = `SELECT toDate(happened_at) AS day, sum(toInt128(amount)) AS amount FROM ledger
      WHERE workspace = {workspace:String} AND environment = 'live' GROUP BY day`;
    const [plan] = await clickhouse.rows<{ plan: string }>(
      `SELECT arrayStringConcat(groupArray(explain)) AS plan
       FROM (EXPLAIN projections = 1 ${byDay} SETTINGS force_optimize_projection = 1)`,
      { workspace },
    );
    expect(plan?.plan).to.contain("by_day");
    const [row] = await clickhouse.rows<{ amount: string }>(byDay, { workspace });
    expect(row?.amount).to.equal("300");
  });

  it("should write tables to files and back, whatever the folder is called", async () => {
    const name = `files_${randomUUID().replaceAll("-", "")}`;
    await clickhouse.write(`CREATE TABLE ${name} (n UInt64) ENGINE = MergeTree ORDER BY n`);
    await clickhouse.write(`INSERT INTO ${name} SELECT number FROM numbers(10)`);
    const folder = join(testFolder, "back*ups {1,2} [a] ?'");
    mkdirSync(folder);
    const file = join(folder, `${name}${tableFileEnding}`);
    await clickhouse.files.write(name, file);
    expect(existsSync(file)).to.equal(true);
    await clickhouse.files.read(name, file);
    const rows = await clickhouse.rows(`SELECT count() AS count, sum(n) AS sum FROM ${name}`);
    expect(rows).to.eql([{ count: "20", sum: "90" }]);
  });

  it("should refuse what would wait behind too many others", async () => {
    const pool = new Pool(["one"], 1);
    let free = (): void => {};
    const first = pool.run(() => new Promise<void>((resolve) => (free = resolve)));
    const second = pool.run(async (connection) => connection);
    expect(await rejection(pool.run(async () => "third"))).to.be.instanceOf(StoreBusy);
    free();
    await first;
    expect(await second).to.equal("one");
    expect(await pool.run(async () => "again")).to.equal("again");
  });
});

/** Of this process, by Linux. */
const threadsFolder = "/proc/self/task";

/** The engine names its threads; "node" when it has ended. */
function nameOf(thread: string): string {
  try {
    return readFileSync(join(threadsFolder, thread, "comm"), "utf8").trim();
  } catch {
    return "node";
  }
}

/** None when it has ended. */
function priorityOf(thread: number): number[] {
  try {
    return [getPriority(thread)];
  } catch {
    return [];
  }
}
