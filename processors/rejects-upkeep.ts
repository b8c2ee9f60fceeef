/**
 * Rejects that mend themselves: those that wait for a rate are replayed when a new edition of
 * rates appears, and replayed ones that were booked are resolved.
 */
import { setTimeout as pause } from "node:timers/promises";
import { replayRejects } from "../backends/replay.js";
import type { Service } from "../backends/service.js";

const waitsForRate = "fx_rate_missing";
const settleEveryMs = 2_000;

export function keepRejects(service: Service): void {
  const stopping = new AbortController();
  const stopListening = service.rates.onEdition(() => {
    replayWaiting(service).catch((error: unknown) => {
      service.logger.error({ err: error }, "could not replay what waits for a rate");
    });
  });
  const ended = settleUntil(service, stopping.signal);
  service.releases.push("rejects upkeep", async () => {
    stopListening();
    stopping.abort();
    await ended;
  });
}

async function replayWaiting(service: Service): Promise<void> {
  const workspaces = await service.clickhouse.rows<{ workspace: string }>(
    `SELECT DISTINCT workspace FROM rejects FINAL
     WHERE state = 'open' AND reason = '${waitsForRate}'`,
  );
  for (const { workspace } of workspaces) {
    let more = true;
    while (more) ({ more } = await replayRejects(service, { workspace, reason: waitsForRate }));
  }
}

async function settleUntil(service: Service, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    // Rejects with the signal's reason at once when stopping: that is the end of the loop.
    await pause(settleEveryMs, undefined, { signal: stopped }).catch(() => undefined);
    if (stopped.aborted) return;
    try {
      await settleReplayed(service);
    } catch (error) {
      service.logger.error({ err: error }, "could not settle replayed rejects; trying again");
    }
  }
}

/** A replayed reject whose newer raw record was normalized is resolved. */
export async function settleReplayed({ clickhouse }: Pick<Service, "clickhouse">): Promise<void> {
  const [waiting] = await clickhouse.rows<{ found: string }>(
    "SELECT count() AS found FROM rejects FINAL WHERE state = 'replayed'",
  );
  if (waiting === undefined || waiting.found === "0") return;
  await clickhouse.write(
    `INSERT INTO rejects
     SELECT r.workspace, r.environment, r.event_id, r.provider, r.native_type, r.received_at,
            r.step, r.reason, r.detail, r.partition, r.offset, 'resolved',
            toUnixTimestamp64Milli(now64(3))
     FROM (SELECT * FROM rejects FINAL WHERE state = 'replayed') AS r
     INNER JOIN (
       SELECT workspace, environment, event_id, max(received_at) AS normalized
       FROM raw_events WHERE outcome != 'rejected'
       GROUP BY workspace, environment, event_id
     ) AS e USING (workspace, environment, event_id)
     WHERE e.normalized > r.received_at`,
    {},
    "bookkeeping",
  );
}
