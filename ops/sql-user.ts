/**
 * `npm run ops -- sql-user`: the views for people's own SQL, and a user that may read those of one
 * workspace (docs/sql.md). Prints the statements, or runs them. Run again, it makes the views anew
 * and gives the user a new password.
 */
import { copyCatalogues } from "../workspaces/catalogue/clickhouse-copy.js";
import { analyticsSources, analyticsViews } from "../stores/clickhouse/analytics-views.js";
import { isNotAllowed } from "../stores/clickhouse/errors.js";
import { literal } from "../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../stores/clickhouse/clickhouse.js";
import { ConfigError } from "../config.js";
import type { Service } from "../service.js";
import { randomBase62 } from "../stores/vault/random.js";

interface SqlUserWords {
  readonly workspace: string;
  /** Runs the statements as the user in CLICKHOUSE_URL. */
  readonly apply: boolean;
}

/** @throws ConfigError */
export async function sqlUser(
  service: Pick<Service, "clickhouse" | "postgres">,
  { workspace, apply }: SqlUserWords,
  report: (line: string) => void,
): Promise<void> {
  const { clickhouse } = service;
  if (!clickhouse.isShared) throw refused("is not set: the embedded engine has no users");
  if (clickhouse.cluster !== null) throw refused("is a cluster, which has no views for SQL");
  await copyCatalogues(service);
  const names = await namesOf(clickhouse);
  const password = randomBase62(passwordLength);
  const statements = [...viewStatements(), ...userStatements({ ...names, workspace, password })];
  if (!apply) {
    report(`USE ${identifier(names.database)};`);
    for (const statement of statements) report(`${statement};`);
    return;
  }
  try {
    for (const statement of statements) await clickhouse.write(statement);
  } catch (error) {
    if (!(error instanceof Error && isNotAllowed(error))) throw error;
    throw refused(
      `names a user that may not do this: ${error.message.split("\n", 1)[0] ?? ""} Run the ` +
        "command without --apply, and what it prints as an administrator of ClickHouse",
    );
  }
  report(`user: ${sqlUserName(workspace)}\npassword: ${password}\ndatabase: ${names.database}`);
}

const passwordLength = 32;

interface Names {
  readonly database: string;
  /** As which the service asks. */
  readonly serviceUser: string;
}

async function namesOf(clickhouse: Pick<ClickHouse, "rows">): Promise<Names> {
  const [row] = await clickhouse.rows<Names>(
    "SELECT currentDatabase() AS database, currentUser() AS serviceUser",
  );
  if (row === undefined) throw new Error("no answer about the database and its user");
  return row;
}

/** To be run with the database as the current one. */
export function viewStatements(): string[] {
  return Object.entries(analyticsViews()).map(
    ([name, sql]) => `CREATE OR REPLACE VIEW ${name} SQL SECURITY INVOKER AS\n${sql}`,
  );
}

/** Rights come last: there is no moment when the user sees more than its rows. */
export function userStatements({
  database,
  serviceUser,
  workspace,
  password,
}: Names & { readonly workspace: string; readonly password: string }): string[] {
  const name = sqlUserName(workspace);
  const user = identifier(name);
  const on = (table: string): string => `${identifier(database)}.${table}`;
  const sources = Object.entries(analyticsSources);
  return [
    `CREATE USER OR REPLACE ${user} IDENTIFIED BY ${literal(password)}\n  SETTINGS ${limits}`,
    ...sources.flatMap(([table]) => [
      // Of servers that are set so, a table with a policy shows nothing to users without one.
      `CREATE ROW POLICY OR REPLACE revenue_service ON ${on(table)} USING 1 ` +
        `TO ${identifier(serviceUser)}`,
      `CREATE ROW POLICY OR REPLACE ${user} ON ${on(table)} ` +
        `USING workspace = ${literal(workspace)} TO ${user}`,
    ]),
    ...sources.map(
      ([table, columns]) => `GRANT SELECT(${columns.join(", ")}) ON ${on(table)} TO ${user}`,
    ),
    ...Object.keys(analyticsViews()).map((view) => `GRANT SELECT ON ${on(view)} TO ${user}`),
  ];
}

/** Tools set settings of their own, which `readonly = 1` would refuse; of these none is raised. */
const limits =
  "readonly = 2, max_execution_time = 60 MAX 300, max_memory_usage = 2000000000 MAX 2000000000, " +
  "max_threads = 2 MAX 4, max_concurrent_queries_for_user = 4 MAX 4";

export function sqlUserName(workspace: string): string {
  return `sql_${workspace}`;
}

function identifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

function refused(sentence: string): ConfigError {
  return new ConfigError([`CLICKHOUSE_URL: ${sentence}`]);
}
