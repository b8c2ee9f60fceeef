/** The texts of statements on a cluster; nothing is asked of a server. */
import { expect } from "chai";
import { usualUrls } from "../../stores/clickhouse/cluster/layout.js";
import {
  allShards,
  clusterRead,
  eachShard,
  shardKeys,
  shardWrite,
  slotsOf,
} from "../../stores/clickhouse/cluster/shard-statements.js";
import { readMigrations } from "../../stores/migrations.js";
import { projectFile } from "../../runtime/project-root.js";

const names = { cluster: "it's", database: "revenue", shardDatabase: "revenue_shard" };
const slots = { from: 2, to: 3, total: 3 };

describe("Statements on a cluster", () => {
  it("should know which shard a row belongs to, of each table the migrations make", async () => {
    const files = await readMigrations(projectFile("migrations", "clickhouse"));
    const made = files
      .flatMap(({ statements }) => statements)
      .flatMap((statement) => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/.exec(statement)?.[1] ?? []);
    expect(Object.keys(shardKeys)).to.have.members(made);
  });

  it("should share out rows by the weights of the shards", () => {
    expect(slotsOf([{ weight: 1 }, { weight: 3 }]).map((shard) => shard.slots)).to.eql([
      { from: 0, to: 1, total: 4 },
      { from: 1, to: 4, total: 4 },
    ]);
  });

  it("should look for shards at their hosts, with port and user of the first", () => {
    const first = new URL("http://revenue:secret@ch1.example:8124");
    const shards = ["localhost", "ch2.example", "2001:db8::2"].map((host, index) => {
      return { number: index + 1, weight: 1, host, isLocal: index === 0 };
    });
    expect(usualUrls(first, shards).map(String)).to.eql([
      "http://revenue:secret@ch1.example:8124/",
      "http://revenue:secret@ch2.example:8124/",
      "http://revenue:secret@[2001:db8::2]:8124/",
    ]);
  });

  const own = (table: string) =>
    `) WHERE ${shardKeys[table]} % 3 >= 2 AND ${shardKeys[table]} % 3 < 3`;
  const writes: [what: string, sql: string, onShard: string][] = [
    [
      "rows",
      "INSERT INTO ledger SELECT * FROM rows",
      `INSERT INTO ledger SELECT * FROM (\nSELECT * FROM rows\n${own("ledger")}`,
    ],
    [
      "rows with named columns",
      "\n  INSERT INTO rejects (event_id, state)\n SELECT 'it', 'open'",
      "\n  INSERT INTO rejects (event_id, state)\n SELECT * FROM " +
        `(\nSELECT 'it', 'open'\n${own("rejects")}`,
    ],
    [
      "a look at all shards, not one that is data",
      `INSERT INTO ledger SELECT '${allShards("ledger")}' FROM ${allShards("money_facts")}`,
      `INSERT INTO ledger SELECT * FROM (\nSELECT '${allShards("ledger")}' ` +
        `FROM \`revenue\`.money_facts\n${own("ledger")}`,
    ],
    ["rows of each server", "INSERT INTO migrations SELECT 1", "INSERT INTO migrations SELECT 1"],
    ["a mutation", "ALTER TABLE ledger DELETE WHERE 1", "ALTER TABLE ledger DELETE WHERE 1"],
    ["the end of all rows", "TRUNCATE TABLE ledger", "TRUNCATE TABLE ledger"],
  ];
  for (const [what, sql, onShard] of writes) {
    it(`should write ${what} on each shard`, () => {
      expect(shardWrite(sql, slots, names)).to.equal(onShard);
    });
  }

  it("should refuse to write rows it cannot share out", () => {
    expect(() => shardWrite("INSERT INTO ledger VALUES (1)", slots, names)).to.throw("ledger");
  });

  const each = "cluster('it\\'s', view(";
  const reads: [what: string, sql: string, onCluster: string][] = [
    ["all rows", "SELECT 1 FROM ledger", "SELECT 1 FROM ledger"],
    [
      "each shard's own rows, and all others as they are",
      `SELECT 1 FROM ${eachShard("SELECT 1 FROM ledger\nJOIN\n rejects FINAL")} JOIN rejects`,
      `SELECT 1 FROM ${each}SELECT 1 FROM \`revenue_shard\`.ledger\n` +
        "JOIN\n `revenue_shard`.rejects FINAL)) JOIN rejects",
    ],
    [
      "data that looks like a statement",
      `SELECT 'FROM ledger ${eachShard("")}' ` +
        `FROM ${eachShard("SELECT ' FROM ledger' -- FROM ledger\n")}`,
      `SELECT 'FROM ledger ${eachShard("")}' ` +
        `FROM ${each}SELECT ' FROM ledger' -- FROM ledger\n))`,
    ],
  ];
  for (const [what, sql, onCluster] of reads) {
    it(`should read ${what}`, () => {
      expect(clusterRead(sql, names)).to.equal(onCluster);
    });
  }

  it("should not let a shard ask each shard", () => {
    const nested = eachShard(`SELECT 1 FROM ${eachShard("SELECT 1")}`);
    expect(() => clusterRead(`SELECT 1 FROM ${nested}`, names)).to.throw("each shard");
  });
});
