/** A part of Postgres' connections, for work that comes in crowds. */
import { bulkhead } from "cockatiel";
import type { Postgres } from "./postgres.js";

/**
 * At most `connectionsMax` at a time. What comes meanwhile waits here, however long, and not among
 * those the pool turns away after `limits.postgresConnectMsMax`, or before them.
 */
export function shareOf(postgres: Postgres, connectionsMax: number): Postgres {
  const turns = bulkhead(connectionsMax, Number.POSITIVE_INFINITY);
  return {
    ...postgres,
    query: (sql, values) => turns.execute(() => postgres.query(sql, values)),
    transaction: (run, options) => turns.execute(() => postgres.transaction(run, options)),
  };
}
