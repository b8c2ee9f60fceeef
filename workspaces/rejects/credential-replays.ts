/**
 * Replays owed since credentials were entered: recorded in the same transaction, and cleared when
 * the replay has ended.
 */
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { rejectNews } from "./rejects.js";
import { type ReplayService, replayAll } from "./replay.js";

/** By then every process uses credentials that another entered (`workspaces/integrations.ts`). */
export const credentialsSeenMs = 5_000;

/** In the transaction that writes the credentials of this integration. */
export async function oweReplay(sql: Sql, integration: string): Promise<void> {
  await sql.query(
    `INSERT INTO credential_replays (workspace, provider, note)
     SELECT workspace, provider, $2 FROM integrations WHERE id = $1
     ON CONFLICT (workspace, provider) DO UPDATE SET note = excluded.note, seen_at = NULL`,
    [integration, randomBase62(noteLength)],
  );
  rejectNews.announce();
}

/**
 * Replays what waits for the APIs of these providers, once every process uses the new credentials.
 * To be called often, by one process at a time: most calls find nothing to do.
 */
export async function replayOwed(
  service: ReplayService & { readonly postgres: Postgres },
): Promise<void> {
  for (const { note, ...owed } of await owedReplays(service.postgres)) {
    for (const reason of reasons) await replayAll(service, { ...owed, reason });
    await service.postgres.query("DELETE FROM credential_replays WHERE note = $1", [note]);
  }
}

const noteLength = 20;
const reasons = ["enrichment_unavailable", "enrichment_refused"];

interface Owed {
  readonly workspace: string;
  readonly provider: string;
  readonly note: string;
}

async function owedReplays(postgres: Postgres): Promise<Owed[]> {
  await postgres.query(
    "UPDATE credential_replays SET seen_at = clock_timestamp() WHERE seen_at IS NULL",
  );
  return postgres.query<Owed>(
    `SELECT workspace, provider, note FROM credential_replays
     WHERE seen_at <= clock_timestamp() - $1::float8 * interval '1 millisecond'`,
    [credentialsSeenMs],
  );
}
