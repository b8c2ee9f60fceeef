import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import { expect } from "chai";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { rejection } from "../harness/promises.js";
import { openTestPostgres } from "../harness/stores.js";

describe("Postgres", () => {
  let postgres: Postgres;
  const table = `things_${randomUUID().replaceAll("-", "")}`;
  before(async () => {
    postgres = await openTestPostgres();
    await postgres.query(`CREATE TABLE ${table} (id text PRIMARY KEY, n int8)`);
  });
  after(() => postgres.query(`DROP TABLE ${table}`));

  const bytes = Buffer.from([0, 1, 127, 128, 255]);
  const time = new Date("2026-11-20T10:00:00.123Z");
  const columns: [type: string, given: unknown, expected: unknown][] = [
    ["int8", 9_007_199_254_740_993n, 9_007_199_254_740_993n],
    ["int8", 5, 5n],
    ["int4", 5, 5],
    ["numeric", "123456789012345678901234567890.10", "123456789012345678901234567890.10"],
    ["text", "it's \\ \n é😀", "it's \\ \n é😀"],
    ["boolean", true, true],
    ["date", "2026-02-28", "2026-02-28"],
    ["timestamptz", time, time],
    ["bytea", bytes, bytes],
    ["bytea", Buffer.alloc(0), Buffer.alloc(0)],
    ["jsonb", JSON.stringify({ a: [1, "x"] }), { a: [1, "x"] }],
    ["jsonb", JSON.stringify([1, 2]), [1, 2]],
    ["text[]", ["a", "it's", ""], ["a", "it's", ""]],
    ["text", null, null],
  ];
  for (const [type, given, expected] of columns) {
    it(`should take ${inspect(given)} as ${type} and give it back`, async () => {
      const [row] = await postgres.query<{ v: unknown }>(`SELECT $1::${type} AS v`, [given]);
      expect(row?.v).to.eql(expected);
      if (Buffer.isBuffer(expected)) expect(Buffer.isBuffer(row?.v)).to.equal(true);
    });
  }

  it("should count in bigint", async () => {
    expect(await postgres.query(`SELECT count(*) AS n FROM ${table} WHERE id = 'none'`)).to.eql([
      { n: 0n },
    ]);
  });

  it("should keep all of a transaction, or nothing when it fails", async () => {
    const insert = `INSERT INTO ${table} VALUES ($1, $2)`;
    const kept = await postgres.transaction(async (sql) => {
      await sql.query(insert, ["kept", 1]);
      return (await sql.query(`SELECT id FROM ${table} WHERE id = 'kept'`)).length;
    });
    expect(kept).to.equal(1);
    const failures = [
      async () => {
        throw new Error("changed my mind");
      },
      async (sql: Sql) => {
        await sql.query(insert, ["kept", 2]);
      },
    ];
    for (const fail of failures) {
      const error = await rejection(
        postgres.transaction(async (sql) => {
          await sql.query(insert, ["lost", 1]);
          await fail(sql);
        }),
      );
      expect(String(error)).to.match(/changed my mind|duplicate key/);
    }
    expect(await postgres.query(`SELECT * FROM ${table} ORDER BY id`)).to.eql([
      { id: "kept", n: 1n },
    ]);
  });

  it("should not mix transactions, nor other queries into one", async () => {
    await postgres.query(`INSERT INTO ${table} VALUES ('counter', 0)`);
    const add = () =>
      postgres.transaction(async (sql) => {
        const [row] = await sql.query<{ n: bigint }>(
          `SELECT n FROM ${table} WHERE id = 'counter' FOR UPDATE`,
        );
        await pause(2);
        const next = (row?.n ?? 0n) + 1n;
        await sql.query(`UPDATE ${table} SET n = $1 WHERE id = 'counter'`, [next]);
      });
    const abandoned = postgres.transaction(async (sql) => {
      await sql.query(`INSERT INTO ${table} VALUES ('abandoned', 1)`);
      await pause(20);
      throw new Error("abandoned");
    });
    const outside = postgres.query(`INSERT INTO ${table} VALUES ('outside', 1)`);
    await Promise.all([...Array.from({ length: 10 }, add), outside, rejection(abandoned)]);
    expect(
      await postgres.query(`SELECT id, n FROM ${table} WHERE id <> 'kept' ORDER BY id`),
    ).to.eql([
      { id: "counter", n: 10n },
      { id: "outside", n: 1n },
    ]);
  });

  it("should say what was wrong with a statement and go on", async () => {
    expect(String(await rejection(postgres.query("SELECT nothing")))).to.match(/nothing/);
    expect(await postgres.query("SELECT 1 AS one")).to.eql([{ one: 1 }]);
  });
});
