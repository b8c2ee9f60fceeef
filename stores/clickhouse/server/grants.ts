/**
 * Checks at start that a server's user has all rights. Otherwise the first event would find one
 * missing.
 */
import { text } from "node:stream/consumers";
import type { ClickHouseClient } from "@clickhouse/client";

/** Where migrations make and change tables, and a restore empties them. */
const ofTables = [
  "SELECT",
  "INSERT",
  "CREATE TABLE",
  "ALTER COLUMN",
  "ALTER INDEX",
  "ALTER PROJECTION",
  "ALTER SETTINGS",
  "TRUNCATE",
] as const;
/** Where all migrations have run. It implies `CREATE TEMPORARY TABLE`, for rows in statements. */
const ofRunning = ["SELECT", "INSERT", "CREATE TABLE"] as const;
/** Needed where servers are set so (`table_engines_require_grant`). */
const engines = ["MergeTree", "ReplacingMergeTree"] as const;
/** To end statements whose answer was lost; without it they are waited for. */
const ofLost = "SELECT ON system.processes";

/** @returns statements that grant the user all that it lacks; none: it has what it needs */
export async function missingGrants(
  client: ClickHouseClient,
  database: string,
  user: string,
): Promise<string[]> {
  const on = `${identifier(database)}.*`;
  const ofEngines = engines.map((engine) => `TABLE ENGINE ON ${engine}`);
  const asked = (await isMigrated(client, database))
    ? [`${ofRunning.join(", ")} ON ${on}`]
    : [`${ofTables.join(", ")} ON ${on}`, ...ofEngines];
  if (await has(client, asked.join(", "))) return [];
  const lacking = await allLacking(
    client,
    ofTables.map((right) => `${right} ON ${on}`),
  );
  const rights = lacking.map((grant) => grant.slice(0, grant.indexOf(" ON ")));
  const tables = rights.length > 0 ? [`${rights.join(", ")} ON ${on}`] : [];
  const others = await allLacking(client, [...ofEngines, ofLost]);
  return [...tables, ...others].map((grant) => `GRANT ${grant} TO ${identifier(user)}`);
}

async function isMigrated(client: ClickHouseClient, database: string): Promise<boolean> {
  const found = await client.query({
    query: "SELECT 1 FROM system.tables WHERE database = {database:String} AND name = 'migrations'",
    query_params: { database },
    format: "JSONEachRow",
  });
  return (await found.json()).length > 0;
}

async function allLacking(client: ClickHouseClient, grants: readonly string[]): Promise<string[]> {
  const held = await Promise.all(grants.map((grant) => has(client, grant)));
  return grants.filter((_, index) => held[index] === false);
}

/** The statement takes no FORMAT. */
async function has(client: ClickHouseClient, grants: string): Promise<boolean> {
  const { stream } = await client.exec({ query: `CHECK GRANT ${grants}` });
  return (await text(stream)).trim() === "1";
}

function identifier(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}
