/** What a user of the SQL views may see and do, on a real server (docs/sql.md). */
import { expect } from "chai";
import { analyticsSources, analyticsViews } from "../../stores/clickhouse/analytics-views.js";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { startClickHouse } from "../../ops/servers/clickhouse.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { userStatements, viewStatements } from "../../ops/sql-user.js";
import { migrateClickHouse } from "../../stores/migrations.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { freePort } from "../harness/service-process.js";
import { testLogger } from "../harness/stores.js";
import { granted, withUsers, type Xml, xml } from "./server-config.js";

const workspaces = ["ws_a", "ws_b"] as const;
const database = "revenue";
const password = "secret";

describe("A user of the SQL views", () => {
  const own = suiteOnServers("sql-user", ["clickhouse"]);
  let server: LocalServer;
  let clickhouse: ClickHouse;
  before(async function () {
    this.timeout(120_000);
    const [httpPort, tcpPort] = [await freePort(), await freePort()];
    const config = usersXml(own.folder);
    server = own.keep(await startClickHouse({ folder: own.folder, httpPort, tcpPort, config }));
    const url = `${server.url}/${database}`;
    const limits = { memoryBytes: 1_000_000_000, threads: 2, patienceMs: 0 };
    clickhouse = own.keep(await openClickHouse({ url, ...limits }));
    await migrateClickHouse(clickhouse, testLogger);
    for (const statement of viewStatements()) await clickhouse.write(statement);
    for (const statement of rowStatements()) await clickhouse.write(statement);
  });

  async function ask(sql: string, workspace: string = workspaces[0]): Promise<string> {
    const answer = await fetch(`${server.url}/?database=${database}`, {
      method: "POST",
      headers: { "X-ClickHouse-User": `sql_${workspace}`, "X-ClickHouse-Key": password },
      body: sql,
    });
    return (await answer.text()).trim();
  }

  for (const view of [...Object.keys(analyticsViews()), ...Object.keys(analyticsSources)]) {
    it(`should see in ${view} the rows of its workspace only`, async () => {
      const all = await clickhouse.rows(`SELECT DISTINCT workspace FROM ${view} ORDER BY 1`);
      expect(all).to.deep.equal(workspaces.map((workspace) => ({ workspace })));
      for (const one of workspaces) {
        expect(await ask(`SELECT DISTINCT workspace FROM ${view}`, one)).to.equal(one);
      }
    });

    it(`should see nothing of others in the errors of a question to ${view}`, async () => {
      const conditions = [
        "throwIf(workspace != 'ws_a', 'seen') = 0",
        "intDiv(1, workspace = 'ws_a') = 1",
        "toUInt64(if(workspace = 'ws_a', '1', workspace)) = 1",
      ];
      const settings = [
        "short_circuit_function_evaluation = 'disable'",
        "short_circuit_function_evaluation = 'disable', enable_multiple_prewhere_read_steps = 0",
        "enable_analyzer = 0",
      ];
      for (const condition of conditions) {
        for (const setting of settings) {
          const rows = `SELECT DISTINCT workspace FROM ${view} WHERE ${condition}`;
          const sql = `${rows} SETTINGS ${setting}`;
          expect(await ask(sql), sql).to.equal("ws_a");
        }
      }
    });
  }

  const refused: readonly (readonly [what: string, sql: string])[] = [
    ["write a row", "INSERT INTO rejects SELECT * FROM rejects"],
    ["write a row of a view's table", "INSERT INTO ledger (workspace) SELECT 'ws_a'"],
    ["make a table", "CREATE TABLE mine (n UInt8) ENGINE = MergeTree ORDER BY n"],
    ["remove a view", "DROP VIEW analytics_ledger"],
    ["empty a table", "TRUNCATE TABLE ledger"],
    ["read facts", "SELECT fact FROM money_facts"],
    ["read raw events", "SELECT event_id FROM raw_events"],
    ["read another column", "SELECT shown FROM transactions"],
    ["read a table as a whole", "SELECT * FROM transactions"],
    ["leave read-only", "SELECT 1 SETTINGS readonly = 0"],
    ["read an address", "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')"],
  ];
  for (const [what, sql] of refused) {
    it(`should not ${what}`, async () => {
      expect(await ask(sql)).to.match(/ACCESS_DENIED|READONLY/);
    });
  }

  it("should be made by statements this engine understands", async () => {
    for (const statement of workspaces.flatMap(statementsOf)) {
      await clickhouse.rows("SELECT formatQuery({statement:String})", { statement });
    }
  });
});

function statementsOf(workspace: string): string[] {
  return userStatements({ database, serviceUser: "default", workspace, password });
}

/** The server of the tests keeps users in a file, so the same is said there in its words. */
function usersXml(folder: string): string {
  const users = workspaces.map((workspace): [string, Xml] => {
    const statements = statementsOf(workspace);
    const grants = statements.flatMap((one) => /^(GRANT .*) TO `/.exec(one)?.[1] ?? []);
    const access = { password, profile: "reading", ...granted(grants) };
    return [`sql_${workspace}`, { ...access, ...filters(statements, `sql_${workspace}`) }];
  });
  const all = { default: filters(statementsOf("ws_a"), "default"), ...Object.fromEntries(users) };
  return xml(withUsers(folder, all, { reading: { readonly: "2" } }));
}

/** The row policies of one user. */
function filters(statements: readonly string[], user: string): Xml {
  const tables = statements.flatMap((statement): [string, Xml][] => {
    const [, table = "", filter = "", to] =
      /^CREATE ROW POLICY .* ON `\w+`\.(\w+) USING (.*) TO `(\w+)`$/.exec(statement) ?? [];
    return to === user ? [[table, { filter }]] : [];
  });
  return { databases: { [database]: Object.fromEntries(tables) } };
}

/** Rows of both workspaces lie in one part, side by side. */
function rowStatements(): string[] {
  const each =
    "arrayJoin(['ws_a', 'ws_b']) AS workspace, 'live' AS environment, 'custom' AS provider";
  return [
    `INSERT INTO transactions (workspace, environment, provider, id, original_currency,
       base_currency, fx_rate, external_id)
     SELECT ${each}, 'tx' AS id, 'USD', 'EUR', '1', 'sku'`,
    `INSERT INTO ledger (workspace, environment, provider, payment, currency, amount, external_id)
     SELECT ${each}, 'custom:p' AS payment, 'USD', 100, 'sku'`,
    `INSERT INTO mrr_movements (workspace, environment, provider, account, mrr, external_id)
     SELECT ${each}, 'one' AS account, 5, 'sku'`,
    `INSERT INTO catalogue_skus (workspace, environment, provider, external_id, base_currency)
     SELECT workspace, environment, sku.1, sku.2, 'EUR' FROM (
       SELECT ${each}, arrayJoin([('', ''), ('custom', 'sku')]) AS sku
     )`,
  ];
}
