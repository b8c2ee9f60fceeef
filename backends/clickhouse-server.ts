/** A ClickHouse server, by URL. */
import { createClient } from "@clickhouse/client";
import type { Connections } from "./clickhouse-open.js";
import { statementSettings } from "./clickhouse-settings.js";

/** The longest a statement may take, ms; migrations and audits of everything included. */
const requestMsMax = 300_000;
/** Reads beyond this wait here, one connection for each write lane aside. */
const readers = 16;

/** @param url user, password and database may be part of it */
export function connectServer(url: string): Connections {
  const client = createClient({
    url,
    application: "revenue-aggregation-service",
    max_open_connections: readers + 4,
    request_timeout: requestMsMax,
    clickhouse_settings: { ...statementSettings },
  });
  return {
    readers: Array.from({ length: readers }, () => client),
    writers: {
      facts: client,
      money: client,
      versions: client,
      subscriptions: client,
      bookkeeping: client,
    },
    durableSettings: "",
    async endStatement(queryId) {
      await client.command({
        query: `KILL QUERY WHERE query_id = {queryId:String} SYNC`,
        query_params: { queryId },
      });
    },
    close: () => client.close(),
  };
}
