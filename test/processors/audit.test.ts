/** The audit on real rows: clean when all is right; whatever is broken is named and mended. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { rebuild, rebuildMovements } from "../../processors/audit/rebuild.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { audit } from "../../processors/audit/audit.js";
import type { AuditedTable, AuditFinding } from "../../schemas/audit.js";
import { insertChanges } from "../../processors/book/subscriptions/changes.js";
import { recordMovements } from "../../processors/book/subscriptions/movements.js";
import { expectError, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { at as fieldOf } from "../model/readers/json.js";
import { clickhouseTime, rowsIn } from "../../stores/clickhouse/rows.js";
import { allShards } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { Change } from "../../schemas/subscriptions/change.js";

const quiet = (): void => {};
const inOneGo = { repair: false, shareMax: 1 };

describe("the audit", () => {
  const endpoints = suiteEndpoints();
  let clickhouse: ClickHouse;

  before(async () => {
    ({ clickhouse } = endpoints.service);
    for (const event of history()) {
      const answer = await endpoints.ingest(event);
      expect(answer.status, answer.text).to.equal(202);
    }
    await endpoints.booked();
  });

  it("should find nothing where nothing is wrong, and say what it compared", async () => {
    const findings = await audit(endpoints.service, { ...inOneGo, workspace: endpoints.workspace });
    expect(findings.map(({ table, differences }) => [table, differences])).to.deep.equal([
      ["unidentified_sides", 0],
      ["subscription_changes", 0],
      ["mrr_movements", 0],
      ["money_facts", 0],
      ["ledger", 0],
      ["transactions", 0],
    ]);
    expect(findings.every(({ rows }) => rows > 0)).to.equal(true);
  });

  const damages: readonly {
    readonly what: string;
    readonly table: AuditedTable;
    readonly columns: Readonly<Record<string, string>>;
    readonly amount: string;
    /** Nothing can be added that would take it back. */
    readonly isLasting?: true;
  }[] = [
    {
      what: "a movement counted twice",
      table: "mrr_movements",
      columns: {},
      amount: "-10",
    },
    {
      what: "a movement of an account that has no changes",
      table: "mrr_movements",
      columns: { account: "'nobody'" },
      amount: "-10",
    },
    {
      what: "a movement under another kind",
      table: "mrr_movements",
      columns: { kind: "'expansion'", mrr: "toDecimal128(0, 6)", accounts: "3" },
      amount: "0",
    },
    { what: "a ledger entry counted twice", table: "ledger", columns: {}, amount: "-1000" },
    {
      what: "a ledger entry of a payment nobody reported",
      table: "ledger",
      columns: { payment: "'custom:nobody'" },
      amount: "-1000",
    },
    {
      what: "a version that says something else",
      table: "transactions",
      columns: { version: "version + 1", status: "'disputed'" },
      amount: "0",
    },
    {
      what: "a version of a payment nobody reported",
      table: "transactions",
      columns: { id: "'tx_norm_nobody'" },
      amount: "0",
      isLasting: true,
    },
  ];
  for (const { what, table, columns, amount, isLasting } of damages) {
    const then = isLasting ? "go on naming it" : "repair it when asked to";
    it(`should name ${what}, and ${then}`, async () => {
      const { workspace } = endpoints;
      await copyRow(clickhouse, workspace, table, columns);
      const broken = findingOf(await audit(endpoints.service, { ...inOneGo, workspace }), table);
      expect(broken.differences).to.be.greaterThan(0);
      expect(broken.amount).to.equal(amount);
      expect(broken.examples).to.have.lengthOf(broken.differences);
      const repairedAt = Date.now();
      const reported = await audit(endpoints.service, { ...inOneGo, workspace, repair: true });
      expect(findingOf(reported, table).differences).to.equal(broken.differences);
      const after = findingOf(await audit(endpoints.service, { ...inOneGo, workspace }), table);
      expect(after.differences).to.equal(isLasting ? broken.differences : 0);
      if (isLasting) return;
      const rows = await clickhouse.rows(
        `SELECT 1 FROM ${table} WHERE workspace = {workspace:String}
           AND booked_at >= fromUnixTimestamp64Milli({at:Int64}, 'UTC')`,
        { workspace, at: String(repairedAt) },
      );
      expect(rows, "booked by the repair").to.have.lengthOf(broken.differences);
    });
  }

  it("should name rows that the state holds and the tables lost, and mend them", async () => {
    const { service, workspace } = endpoints;
    const whole = await audit(service, { ...inOneGo, workspace });
    await loseRows(clickhouse, workspace, ["money_facts", "subscription_changes"]);
    const broken = await audit(service, { ...inOneGo, workspace });
    for (const table of ["money_facts", "subscription_changes"] as const) {
      const { rows } = findingOf(whole, table);
      expect(findingOf(broken, table)).to.include({ rows, differences: rows });
    }
    const { examples } = findingOf(broken, "money_facts");
    expect(examples.map(({ subject }) => subject)).to.include("custom payment:sale_audited");
    await audit(service, { ...inOneGo, workspace, repair: true });
    const after = await audit(service, { ...inOneGo, workspace });
    const mended = ["subscription_changes", "mrr_movements", "money_facts", "ledger"] as const;
    expect(mended.map((table) => findingOf(after, table).differences)).to.eql([0, 0, 0, 0]);
  });

  it("should make all rows again from the state, and do nothing the second time", async () => {
    const { service } = endpoints;
    const made = await openEndpoints();
    for (const event of [...history(), ...unidentified()]) {
      expect((await made.ingest(event)).status).to.equal(202);
    }
    await made.booked();
    const { workspace } = made;
    const before = await rowsOfAll(clickhouse, workspace);
    expect(before.map((rows) => rows.length > 0)).to.eql(rebuilt.map(() => true));
    await loseRows(clickhouse, workspace, rebuilt);
    const said: string[] = [];
    await rebuild(service, workspace, (line) => said.push(line));
    expect(said[0]).to.match(/^The state holds (\d+) facts and changes; \1 were missing/);
    expect(await rowsOfAll(clickhouse, workspace)).to.eql(before);
    await rebuild(service, workspace, quiet);
    expect(await rowsOfAll(clickhouse, workspace)).to.eql(before);
  });

  it("should make movements anew from the changes, and do nothing the second time", async () => {
    const { workspace } = endpoints;
    const movementsOf = () =>
      clickhouse.rows<{ rows: string }>(
        `SELECT count() AS rows FROM mrr_movements WHERE workspace = {workspace:String}`,
        { workspace },
      );
    await copyRow(clickhouse, workspace, "mrr_movements", {});
    await rebuildMovements(endpoints.service, workspace, quiet);
    const findings = await audit(endpoints.service, { ...inOneGo, workspace });
    expect(findingOf(findings, "mrr_movements").differences).to.equal(0);
    const rebuilt = await movementsOf();
    await rebuildMovements(endpoints.service, workspace, quiet);
    expect(await movementsOf()).to.deep.equal(rebuilt);
  });

  it("should look at small workspaces together, and name those that are wrong", async () => {
    const few = ["ws_few_1", "ws_few_2"];
    const isOfFew = (row: unknown) => few.some((name) => fieldOf(row, "workspace") === name);
    for (const workspace of few) {
      const changes = changesIn(workspace).map((change) => ({
        ...change,
        account: `${workspace} ${change.account}`,
      }));
      await insertChanges(clickhouse, changes);
      const touched = new Map(changes.map((change) => [change.account, change])).values();
      await recordMovements(clickhouse, [...touched], clickhouse.isShared);
    }
    let compared = 0;
    const counting: ClickHouse = {
      ...clickhouse,
      async rows<T>(sql: string, params?: Parameters<ClickHouse["rows"]>[1]) {
        if (sql.includes("correction FROM mrr_movements")) compared += 1;
        const rows = await clickhouse.rows<T>(sql, params);
        // Other tests' workspaces are there as well, so many that they are several groups.
        return sql.startsWith("SELECT DISTINCT workspace") ? rows.filter(isOfFew) : rows;
      },
    };
    // The state holds only those of other tests.
    const service = { ...endpoints.service, clickhouse: counting, log: { ends: async () => [] } };
    const movementsOf = async () =>
      (await audit(service, { ...inOneGo, workspace: null })).filter(
        ({ table, workspace }) => table === "mrr_movements" && few.includes(workspace),
      );
    const right = await movementsOf();
    expect(right.map(({ differences }) => differences)).to.eql([0, 0]);
    expect(right.map(({ rows }) => rows > 0)).to.eql([true, true]);
    expect(compared).to.equal(1);

    // What one lacks another has: together nothing is missing.
    const back = { mrr: "-mrr", accounts: "-accounts", subscriptions: "-subscriptions" };
    await copyRow(clickhouse, "ws_few_1", "mrr_movements", { workspace: "'ws_few_2'" });
    await copyRow(clickhouse, "ws_few_1", "mrr_movements", back);
    expect((await movementsOf()).map(({ differences }) => differences)).to.eql([1, 1]);
  });

  it("should make movements where there are none as booking makes them", async () => {
    const booked = changesIn("ws_booked");
    await insertChanges(clickhouse, booked);
    // The newest of each account is the last of it.
    const touched = new Map(booked.map((change) => [change.account, change])).values();
    await recordMovements(clickhouse, [...touched], clickhouse.isShared);
    await insertChanges(clickhouse, changesIn("ws_rebuilt"));
    await rebuildMovements(endpoints.service, "ws_rebuilt", quiet);
    const movementsOf = (workspace: string) =>
      clickhouse.rows<{ account: string }>(
        `SELECT * EXCEPT (workspace, booked_at) FROM mrr_movements
         WHERE workspace = {workspace:String}
         ORDER BY account, at, subscription, external_id, mrr`,
        { workspace },
      );
    const rebuilt = await movementsOf("ws_rebuilt");
    expect(rebuilt).to.deep.equal(await movementsOf("ws_booked"));
    const accounts = rebuilt.map(({ account }) => account);
    expect(new Set(accounts)).to.deep.equal(new Set(["one", "replaced", "two"]));
  });

  it("should be asked for and reported by the management interface", async () => {
    const { workspace } = endpoints;
    const asked = await endpoints.manage("POST", "/audits", { workspace });
    expect(asked.status, asked.text).to.equal(202);
    expect(asked.json.data).to.include({ workspace, asked_by: "administrator" });
    const { id } = asked.json.data;
    let reported = asked.json.data;
    while (["waiting", "running"].includes(reported.state)) {
      await pause(50);
      const list = await endpoints.manage("GET", "/audits?limit=200");
      reported = list.json.data.find((row: { id: string }) => row.id === id);
    }
    // What nothing can be added against, from above.
    expect(reported).to.include({ state: "different", differences: 1, failure: null });
    expect(reported.findings).to.have.lengthOf(1);
    expect(reported.findings[0]).to.include({ workspace, table: "transactions", differences: 1 });
    expect(Date.parse(reported.ended_at)).to.be.at.least(Date.parse(reported.started_at));
  });

  it("should refuse to be asked for what is not there", async () => {
    const answer = await endpoints.manage("POST", "/audits", { workspace: "ws_nobody" });
    expectError(answer, "422 workspace_unknown workspace");
  });
});

const rebuilt = [
  "money_facts",
  "ledger",
  "transactions",
  "subscription_changes",
  "unidentified_sides",
  "mrr_movements",
] as const;

async function rowsOfAll(clickhouse: ClickHouse, workspace: string): Promise<object[][]> {
  const found: object[][] = [];
  for (const table of rebuilt) {
    const isStamped = table !== "money_facts" && table !== "unidentified_sides";
    const columns = isStamped ? "* EXCEPT (booked_at)" : "*";
    found.push(
      await clickhouse.rows<object>(
        `SELECT ${columns} FROM ${table} WHERE workspace = {workspace:String} ORDER BY ALL`,
        { workspace },
      ),
    );
  }
  return found;
}

async function loseRows(
  clickhouse: ClickHouse,
  workspace: string,
  tables: readonly AuditedTable[],
): Promise<void> {
  for (const table of tables) {
    for (const node of clickhouse.nodes) {
      await node.write(
        `ALTER TABLE ${table} DELETE WHERE ${rowsIn("(workspace)", [[workspace]])}
         SETTINGS mutations_sync = 1`,
      );
    }
  }
}

/** Once more as it is, but for the columns given (SQL expressions). */
async function copyRow(
  clickhouse: ClickHouse,
  workspace: string,
  table: AuditedTable,
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  const replaced = Object.entries(columns).map(([name, sql]) => `${sql} AS ${name}`);
  const replace = replaced.length === 0 ? "" : ` REPLACE (${replaced.join(", ")})`;
  await clickhouse.write(
    `INSERT INTO ${table} SELECT *${replace} FROM (
       SELECT * FROM ${allShards(table)} WHERE ${rowsIn("(workspace)", [[workspace]])}
       ORDER BY recorded_at, ${firstOf[table]} LIMIT 1
     )`,
  );
}

/** Of rows of one time, on any shard, what was reported before what was taken off it or mended. */
const firstOf: Readonly<Record<AuditedTable, string>> = {
  subscription_changes: "event_id, change_id",
  unidentified_sides: "event_id, fact_id",
  money_facts: "event_id, fact_id",
  mrr_movements: "event_id, mrr DESC",
  ledger: "kind DESC, amount DESC",
  transactions: "event_id, version",
};

function findingOf(findings: readonly AuditFinding[], table: AuditedTable): AuditFinding {
  const found = findings.find((finding) => finding.table === table);
  if (found === undefined) throw new Error(`no finding of ${table}`);
  return found;
}

/** A subscription of 10 a month that ends, and a sale with a refund. */
function history(): object[] {
  const about = { provider: "custom", currency: "EUR", amount: 10 };
  const subscription = { subscription_id: "sub_audited", customer_id: "customer_audited" };
  const sale = { transaction_id: "sale_audited" };
  return [
    { ...about, ...subscription, event_type: "subscription.new", occurred_at: at(1) },
    { ...about, ...subscription, event_type: "subscription.churn", occurred_at: at(20) },
    { ...about, ...sale, event_type: "transaction.sale", occurred_at: at(2) },
    { ...about, ...sale, event_type: "transaction.refund", amount: 4, occurred_at: at(3) },
  ];
}

/** A subscription without an id, and the churn that ends it. */
function unidentified(): object[] {
  const about = { provider: "custom", currency: "EUR", amount: 7, customer_id: "customer_unnamed" };
  return [
    { ...about, event_type: "subscription.new", occurred_at: at(4) },
    { ...about, event_type: "subscription.churn", occurred_at: at(9) },
  ];
}

/**
 * Accounts of one item, of two that begin together, of one that takes another's place under the
 * same SKU, and of a trial.
 */
function changesIn(workspace: string): Change[] {
  const reported = (account: string, day: number, items: Change["steps"][0]["items"]): Change => ({
    workspace,
    environment: "live",
    provider: "custom",
    account,
    subscription: `sub_${account}`,
    change_id: `${account}:${day}`,
    revision: 1,
    void: 0,
    at: clickhouseTime(Date.parse(at(day))),
    phase: day === 1 ? "started" : items.length === 0 ? "ended" : "changed",
    event_id: `evt_${account}_${day}`,
    recorded_at: clickhouseTime(Date.parse(at(day))),
    currency: "EUR",
    country: "DE",
    steps: [{ at: clickhouseTime(Date.parse(at(day))), items }],
  });
  const item = (name: string, sku: string, mrr: number) => ({
    item: name,
    external_id: sku,
    price: `EUR:${mrr}/1`,
    mrr: String(mrr),
  });
  return [
    reported("one", 1, [item("a", "basic", 10)]),
    reported("one", 5, [item("a", "basic", 15)]),
    reported("one", 9, []),
    reported("two", 1, [item("a", "basic", 10), item("b", "extra", 5)]),
    reported("two", 5, [item("a", "basic", 10)]),
    reported("replaced", 1, [item("a", "basic", 10)]),
    reported("replaced", 5, [item("b", "basic", 30)]),
    reported("tried", 1, []),
  ];
}

function at(day: number): string {
  return new Date(Date.UTC(2026, 8, day)).toISOString();
}
