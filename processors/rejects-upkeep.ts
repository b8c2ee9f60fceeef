/**
 * Rejects that mend themselves: those that wait for a rate are replayed when a new edition of
 * rates appears, those that wait for an object (a discount) when one is told, and replayed ones
 * that were booked are resolved.
 */
import { setTimeout as pause } from "node:timers/promises";
import { clickhouseTime } from "../backends/clickhouse-rows.js";
import { replayRejects } from "../backends/replay.js";
import type { Service } from "../backends/service.js";

const waitsForRate = "fx_rate_missing";
const waitsForObject = "enrichment_unavailable";
const settleEveryMs = 2_000;
/** Workspaces that wait for their replay; beyond it the newest are dropped, with a warning. */
const workspacesWaitingMax = 10_000;

export interface RejectsUpkeep {
  /** What its events lacked may have been told now; replayed within `settleEveryMs`. */
  replaySoon(workspace: string): void;
}

export function keepRejects(service: Service): RejectsUpkeep {
  const stopping = new AbortController();
  const replayable = new Set<string>();
  let newRates = false;
  const stopListening = service.rates.onEdition(() => {
    newRates = true;
  });

  async function upkeep(): Promise<void> {
    if (newRates) {
      newRates = false;
      for (const workspace of await workspacesWaiting(service, waitsForRate)) {
        await replayAll(service, workspace, waitsForRate);
      }
    }
    for (const workspace of replayable) {
      replayable.delete(workspace);
      await replayAll(service, workspace, waitsForObject);
    }
    await settleReplayed(service);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Rejects when stopping: that is the end of the loop.
      await pause(settleEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        await upkeep();
      } catch (error) {
        service.logger.error({ err: error }, "rejects could not be kept up; trying again");
      }
    }
  }

  const ended = run();
  service.releases.push("rejects upkeep", async () => {
    stopListening();
    stopping.abort();
    await ended;
  });
  return {
    replaySoon(workspace) {
      if (replayable.size < workspacesWaitingMax) replayable.add(workspace);
      else service.logger.warn({ workspace }, "too many workspaces wait for a replay");
    },
  };
}

async function workspacesWaiting(service: Service, reason: string): Promise<string[]> {
  const rows = await service.clickhouse.rows<{ workspace: string }>(
    `SELECT DISTINCT workspace FROM rejects FINAL
     WHERE state = 'open' AND reason = {reason:String}`,
    { reason },
  );
  return rows.map(({ workspace }) => workspace);
}

/** Each once: what is rejected again has a new receipt time and waits for the next news. */
async function replayAll(service: Service, workspace: string, reason: string): Promise<void> {
  const before = clickhouseTime(Date.now());
  let more = true;
  while (more) ({ more } = await replayRejects(service, { workspace, reason, before }));
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
