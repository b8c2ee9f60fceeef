import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import {
  postgresTables,
  readTables,
  rowsIn,
  writeTables,
} from "../../stores/backup/postgres-part.js";
import type { Sql } from "../../stores/postgres/postgres.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import { rejection } from "../harness/promises.js";
import { openTestPostgres } from "../harness/stores.js";

/** What Postgres leaves as it is inside of JSON, and other readers of lines end one at. */
const separators = "one\u2028two\u2029three\u0085four";

describe("The rows of Postgres in a backup", () => {
  it("should end at a line feed and nowhere else, wherever the file is cut", async () => {
    const lines = [`{"name":"${separators}"}`, "{}", '{"name":"Ä\u{1f600}"}'];
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    for (let at = 0; at <= bytes.length; at += 1) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      const read: string[] = [];
      for await (const rows of rowsIn(streamed(chunks))) read.push(...rows);
      expect(read, `cut at ${at}`).to.deep.equal(lines);
    }
  });

  it("should come back as they were, with claims that are not durable yet", async () => {
    const postgres = await openTestPostgres();
    const folder = mkdtempSync(join(tmpdir(), "revenue-rows-"));
    mkdirSync(join(folder, "postgres"));
    const given = { name: separators, base_currency: "JPY" } as const;
    const made = await createWorkspace(postgres, given, new Date());
    await postgres.query(
      `INSERT INTO ingest_receipts (workspace, environment, identity, body_hash, answer, durable)
       VALUES ($1, 'live', 'event:custom:1', $2, $3, true)`,
      [made.id, Buffer.from([0, 255]), '{"b":1.50,"a":{"durable":true}}'],
    );
    const read = (sql: Sql) =>
      Promise.all([
        sql.query("SELECT * FROM workspaces WHERE id = $1", [made.id]),
        sql.query<Record<string, unknown>>("SELECT * FROM ingest_receipts WHERE workspace = $1", [
          made.id,
        ]),
      ]);
    const [workspaces, [receipt]] = await read(postgres);
    await writeTables(postgres, folder, postgresTables);

    const end = new Error("all of it is rolled back");
    const ended = postgres.transaction(async (sql) => {
      const statements: string[] = [];
      await readTables(
        { query: (text, values) => (statements.push(text), sql.query(text, values)) },
        folder,
      );
      const [again, receipts] = await read(sql);
      expect(again).to.deep.equal(workspaces);
      expect(receipts).to.deep.equal([{ ...receipt, durable: false }]);
      // A server ends a statement after a while; none may be about all rows of a table.
      const wholes = statements.filter((text) => !/^(TRUNCATE|INSERT)/.test(text));
      expect(wholes).to.deep.equal([]);
      throw end;
    });
    expect(await rejection(ended)).to.equal(end);
    await postgres.query("DELETE FROM ingest_receipts WHERE workspace = $1", [made.id]);
    await postgres.query("DELETE FROM workspaces WHERE id = $1", [made.id]);
    rmSync(folder, { recursive: true });
  });
});

async function* streamed(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
