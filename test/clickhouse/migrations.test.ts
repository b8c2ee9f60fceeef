import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { durableSettings } from "../../stores/clickhouse/settings.js";
import {
  type Migration,
  MigrationRefused,
  migrateClickHouse,
  migratePostgres,
  missing,
  readMigrations,
} from "../../stores/migrations.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { openPglite } from "../../stores/postgres/pglite.js";
import { projectFile } from "../../runtime/project-root.js";
import { placeDatabase } from "../harness/empty-database.js";
import { rejection } from "../harness/promises.js";
import { openTestClickHouse, openTestPostgres, testLogger } from "../harness/stores.js";

describe("Migrations", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "migrations-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("should leave stores that are up to date as they are", async () => {
    const postgres = await openTestPostgres();
    const clickhouse = await openTestClickHouse();
    const recorded = () =>
      Promise.all([
        postgres.query("SELECT * FROM migrations ORDER BY number"),
        clickhouse.rows("SELECT * FROM migrations ORDER BY number"),
      ]);
    const before = await recorded();
    await migratePostgres(postgres, testLogger);
    await migrateClickHouse(clickhouse, testLogger);
    expect(await recorded()).to.eql(before);
    for (const [index, database] of ["postgres", "clickhouse"].entries()) {
      const files = await readMigrations(projectFile("migrations", database));
      expect(before[index]).to.have.length(files.length);
    }
  });

  it("should make ClickHouse tables so that a start cut short can do it again", async () => {
    const clickhouse = await openTestClickHouse();
    for (const { statements } of await readMigrations(projectFile("migrations", "clickhouse"))) {
      for (const statement of statements) {
        await clickhouse.write(statement.replaceAll("${durable}", durableSettings));
      }
    }
  });

  it("should keep each text of changes and movements in one stream", async () => {
    const clickhouse = await openTestClickHouse();
    const tables = ["subscription_changes", "mrr_movements"];
    for (const table of tables) {
      const row = `'ws_streams' AS workspace, 'live' AS environment, 'a' AS account`;
      await clickhouse.write(
        `INSERT INTO ${table} (workspace, environment, account) SELECT ${row}`,
      );
    }
    const parts = await Promise.all(
      clickhouse.nodes.map((node) =>
        node.rows<{ table: string; substreams: string[] }>(
          `SELECT DISTINCT table, substreams FROM system.parts_columns
           WHERE active AND column = 'account' AND table IN ('${tables.join("', '")}')`,
        ),
      ),
    );
    expect(new Set(parts.flat().map(({ table }) => table))).to.eql(new Set(tables));
    expect(parts.flat().filter(({ substreams }) => substreams.length !== 1)).to.eql([]);
  });

  it("should apply what is new, in order, and all or nothing", async () => {
    await placeDatabase(folder);
    const postgres = await openPglite(join(folder, "postgres"));
    // As it was before a first start.
    await postgres.transaction(async (sql) => {
      await sql.query("DROP SCHEMA public CASCADE");
      await sql.query("CREATE SCHEMA public");
    });
    const migrations = join(folder);
    const file = (name: string, sql: string) => writeFile(join(migrations, name), sql);
    await file(
      "0001_first.sql",
      "-- one; two;\nCREATE TABLE a (n int);\nINSERT INTO a VALUES (1);\n",
    );
    await migratePostgres(postgres, testLogger, migrations);
    await file("0002_second.sql", "UPDATE a SET n = n + 1;\n");
    await file("0003_broken.sql", "UPDATE a SET n = 100;\nSELECT nothing;\n");
    expect(await rejection(migratePostgres(postgres, testLogger, migrations))).to.match(/nothing/);
    expect(await state(postgres)).to.eql({ numbers: [1], n: 1 });
    await file("0003_broken.sql", "UPDATE a SET n = n * 10;\n");
    await migratePostgres(postgres, testLogger, migrations);
    await migratePostgres(postgres, testLogger, migrations);
    expect(await state(postgres)).to.eql({ numbers: [1, 2, 3], n: 20 });
    await postgres.close();
  });

  it("should go on from a baseline's last migration as from the baseline", async () => {
    await placeDatabase(folder);
    const postgres = await openPglite(join(folder, "postgres"));
    await migratePostgres(postgres, testLogger);
    const [baseline] = await readMigrations(projectFile("migrations", "postgres"));
    const recorded = () =>
      postgres.query("SELECT number, name, checksum FROM migrations ORDER BY number");
    const before = await recorded();
    await postgres.query(
      "UPDATE migrations SET name = '0015_proofs.sql', checksum = $1 WHERE number = 15",
      [baseline?.replaced],
    );
    await postgres.query("INSERT INTO migrations VALUES (14, '0014_alerts.sql', 'any')");
    await migratePostgres(postgres, testLogger);
    expect(await recorded()).to.eql(before);
    await postgres.close();
  });

  const baseline = { ...migration(2, "new"), replaced: "old" };
  const first = migration(1, "a");
  const second = migration(2, "b");
  const refusals: [what: string, known: Migration[], applied: Migration[], message: RegExp][] = [
    ["a newer database", [first], [first, second], /newer version \(it has migration 2\.sql\)/],
    [
      "another migration of that number",
      [first, migration(2, "c")],
      [first, second],
      /another version \(its migration 2\.sql .*Start the version that made it/,
    ],
    ["a database from elsewhere", [], [first], /newer version/],
    ["one from before the baseline", [baseline], [first], /older than .* is 1\.sql.*b5fee71e/],
    ["another baseline", [baseline], [first, second], /another version \(its migration 2\.sql/],
  ];
  for (const [what, known, applied, message] of refusals) {
    it(`should refuse ${what}, saying what to do`, () => {
      expect(() => missing("Postgres", known, applied)).to.throw(MigrationRefused, message);
    });
  }

  it("should say which of the known ones are missing", () => {
    expect(missing("Postgres", [first, second], [])).to.eql([first, second]);
    expect(missing("Postgres", [first, second], [first])).to.eql([second]);
    expect(missing("Postgres", [first, second], [second, first])).to.eql([]);
    const third = migration(3, "c");
    const replaced = [first, migration(2, "old")];
    expect(missing("Postgres", [baseline, third], [])).to.eql([baseline, third]);
    expect(missing("Postgres", [baseline, third], replaced)).to.eql([third]);
  });

  it("should refuse files whose numbers leave a gap", async () => {
    await writeFile(join(folder, "0002_second.sql"), "");
    expect(String(await rejection(readMigrations(folder)))).to.match(/should begin with 1/);
  });
});

function migration(number: number, checksum: string): Migration {
  return { number, name: `${number}.sql`, checksum, statements: [] };
}

async function state(postgres: Postgres): Promise<{ numbers: number[]; n: number | undefined }> {
  const rows = await postgres.query<{ number: number }>("SELECT number FROM migrations ORDER BY 1");
  const [row] = await postgres.query<{ n: number }>("SELECT n FROM a");
  return { numbers: rows.map(({ number }) => number), n: row?.n };
}
