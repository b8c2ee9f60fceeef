/**
 * Checks at start that a ClickHouse server can be used. A problem becomes a sentence for a person.
 * Makes the database when there is none.
 */
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { limits } from "../../../config.js";
import { isClickHouseError, notAllowed } from "../errors.js";
import { missingGrants } from "./grants.js";
import { whenAnswering } from "../../../runtime/wait-for-server.js";
import type { ServerOrigin } from "../connections.js";

/** The tests run on a newer one; older ones are refused. */
const oldestVersion = [26, 3] as const;
const pauseMs = 500;
const answerMsMax = 10_000;

export interface Usable {
  readonly url: URL;
  readonly database: string;
  readonly version: string;
}

/**
 * @param setting that names the address
 * @param suffixes of the databases it needs, beside the one that is named; the last one's holds the
 *   rows
 * @param makes databases that are missing
 * @throws ConfigError
 */
export async function whenUsable(
  origin: Pick<ServerOrigin, "url" | "patienceMs" | "stopping" | "logger">,
  setting = "CLICKHOUSE_URL",
  suffixes: readonly string[] = [],
  makes = true,
): Promise<Usable> {
  const url = new URL(origin.url);
  const place = `${url.protocol}//${url.host}`;
  const user = url.username === "" ? "default" : decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1)) || "default";
  url.pathname = "";
  const client = createClient({
    url,
    request_timeout: answerMsMax,
    log: { level: ClickHouseLogLevel.OFF },
  });
  const { patienceMs: waitsMsMax = limits.startPatienceMsMax, stopping, logger } = origin;
  const check = async (): Promise<Usable> => {
    const version = await refuseOld(client);
    await refuseReadOnly(client, user);
    for (const suffix of makes ? ["", ...suffixes] : []) {
      await makeDatabase(client, `${database}${suffix}`);
    }
    const missing = await missingGrants(client, `${database}${suffixes.at(-1) ?? ""}`, user);
    if (missing.length > 0) {
      throw new Refused(`the user ${user} lacks rights; run ${missing.join("; ")}`);
    }
    return { url, database, version };
  };
  const judge = (error: unknown) => ({
    sentence: `${setting}: ${reasonOf(error, { place, user, database })}`,
    mayPass: !isClickHouseError(error) && !(error instanceof Refused),
  });
  try {
    return await whenAnswering(check, judge, { waitsMsMax, pauseMs, stopping }, logger);
  } finally {
    await client.close();
  }
}

async function refuseOld(client: ClickHouseClient): Promise<string> {
  const result = await client.query({ query: "SELECT version()", format: "TabSeparated" });
  const version = (await result.text()).trim();
  if (!/^\d+\.\d/.test(version)) {
    throw new Refused("the server that answers is not ClickHouse; its HTTP port is usually 8123");
  }
  const [year = 0, month = 0] = version.split(".").map(Number);
  const [oldestYear, oldestMonth] = oldestVersion;
  if (year > oldestYear || (year === oldestYear && month >= oldestMonth)) return version;
  throw new Refused(
    `the server is ClickHouse ${version}; ${oldestVersion.join(".")} or later is needed`,
  );
}

/** A read-only user may not even change the settings that our statements need. */
async function refuseReadOnly(client: ClickHouseClient, user: string): Promise<void> {
  const result = await client.query({
    query: "SELECT toString(getSetting('readonly'))",
    format: "TabSeparated",
  });
  const readonly = (await result.text()).trim();
  if (readonly === "0") return;
  throw new Refused(
    `the user ${user} may only read (readonly = ${readonly}); give it a profile of settings ` +
      "without readonly",
  );
}

async function makeDatabase(client: ClickHouseClient, database: string): Promise<void> {
  const found = await client.query({
    query: "SELECT name FROM system.databases WHERE name = {database:String}",
    query_params: { database },
    format: "JSONEachRow",
  });
  if ((await found.json()).length > 0) return;
  await client.command({
    query: "CREATE DATABASE IF NOT EXISTS {database:Identifier}",
    query_params: { database },
  });
}

/** Its message is shown as it is. */
class Refused extends Error {}

/** The server's error codes (`SELECT * FROM system.error_log`, ErrorCodes.cpp). */
const wrongUser = new Set(["192", "193", "194", "516"]);
function reasonOf(
  error: unknown,
  { place, user, database }: { place: string; user: string; database: string },
): string {
  if (error instanceof Refused) return error.message;
  if (!isClickHouseError(error)) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    if (/EPROTO|SSL|CERT/.test(code)) {
      const why = error instanceof Error ? error.message.trim() : "";
      return `no encrypted connection to ${place}: ${why}; without TLS it begins with http://`;
    }
    return `no ClickHouse answers at ${place}${code}; its HTTP port is 8123 unless it was changed`;
  }
  if (error.code !== undefined && wrongUser.has(error.code)) {
    return `ClickHouse at ${place} does not let ${user} in: no such user, or another password`;
  }
  if (error.code === notAllowed) {
    return (
      `there is no database ${database} that ${user} may see, and ${user} may not make one; ` +
      `run CREATE DATABASE ${database} and GRANT ALL ON ${database}.* TO ${user}`
    );
  }
  return `ClickHouse at ${place} refuses ${user}: ${error.message.split("\n", 1)[0] ?? ""}`;
}
