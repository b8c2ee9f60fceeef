/** A share of Postgres' connections, for work that comes in crowds. */
import { bulkhead } from "cockatiel";
import type { Postgres } from "./postgres.js";

/**
 * At most `connectionsMax` at a time. Further calls wait here, however long, and neither block
 * others in the pool nor fail after `limits.postgresConnectMsMax`.
 */
export function shareOf(postgres: Postgres, connectionsMax: number): Postgres {
  const turns = bulkhead(connectionsMax, Number.POSITIVE_INFINITY);
  return {
    ...postgres,
    query: (sql, values) => turns.execute(() => postgres.query(sql, values)),
    transaction: (run, options) => turns.execute(() => postgres.transaction(run, options)),
  };
}
