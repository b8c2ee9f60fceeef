/**
 * Replays rejects without being asked: those that wait for a rate at a new edition, for an object
 * (a discount) when one is reported, for a provider's API when it answers again or other
 * credentials were entered. Resolves those that were booked.
 */
import { replayOwed } from "../../workspaces/rejects/credential-replays.js";
import { tryExclusively } from "../../stores/postgres/leases.js";
import { rejectNews } from "../../workspaces/rejects/rejects.js";
import { replayAll } from "../../workspaces/rejects/replay.js";
import { Lookout } from "../../runtime/lookout.js";
import type { Service } from "../../service.js";
import { LogThrottle } from "../../runtime/log-throttle.js";
import { WaitingForApis } from "./api-rejects.js";

const waitsForRate = "fx_rate_missing";
const waitsForObject = "enrichment_unavailable";
const settleEveryMs = 2_000;
const calmSettleEveryMs = 30_000;
/** Workspaces that wait for their replay; beyond it new ones are dropped, with a warning. */
const workspacesWaitingMax = 10_000;

export interface RejectsUpkeep {
  /** What its events lacked may have been reported now; replayed within `settleEveryMs`. */
  replaySoon(workspace: string): void;
  /** A rate is known for which an event was rejected. */
  ratesKnown(): void;
  /** This provider's API answered for an event of this workspace. */
  answered(workspace: string, provider: string): void;
}

export function startRejectRetries(service: Service): RejectsUpkeep {
  const stopping = new AbortController();
  const calmEveryMs = service.log.shared ? settleEveryMs : calmSettleEveryMs;
  const lookout = new Lookout(rejectNews, { everyMs: settleEveryMs, calmEveryMs });
  const replayable = new Set<string>();
  const waitingForApis = new WaitingForApis(service);
  // A process may have been killed between the arrival of data and the replay, so at a start all
  // data counts as new.
  let newRates = true;
  let isFirst = true;
  const stopListening = service.rates.onEdition(() => {
    newRates = true;
    rejectNews.announce();
  });

  async function upkeep(): Promise<void> {
    if (isFirst) {
      for (const workspace of await workspacesWaiting(service, waitsForObject)) {
        replayable.add(workspace);
      }
      isFirst = false;
    }
    if (newRates) {
      newRates = false;
      try {
        for (const workspace of await workspacesWaiting(service, waitsForRate)) {
          await replayAll(service, { workspace, reason: waitsForRate });
        }
      } catch (error) {
        newRates = true;
        throw error;
      }
    }
    if (replayable.size > 0) await replayRequested();
    await replayOwed(service);
    if (await waitingForApis.replay()) lookout.found();
    if (await settleReplayed(service)) lookout.found();
  }

  /** If more is left, it waits for the next turn, so that others get theirs. */
  async function replayRequested(): Promise<void> {
    const reported = new Set(replayable);
    replayable.clear();
    try {
      const waiting = await workspacesWaiting(service, waitsForObject);
      for (const workspace of waiting.filter((each) => reported.has(each))) {
        await replayAll(service, { workspace, reason: waitsForObject, step: "decode" });
      }
    } catch (error) {
      for (const workspace of reported) replayable.add(workspace);
      throw error;
    }
  }

  const failures = new LogThrottle();
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await lookout.rest(stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        if (service.log.shared) await tryExclusively(service.postgres, "rejects upkeep", upkeep);
        else await upkeep();
      } catch (error) {
        if (failures.turn("upkeep") === null) continue;
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
    answered: (workspace, provider) => waitingForApis.answered(workspace, provider),
    ratesKnown() {
      newRates = true;
      rejectNews.announce();
    },
    replaySoon(workspace) {
      rejectNews.announce();
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

/**
 * A replayed reject is resolved once all that was received until its replay is normalized and it
 * has not been rejected again.
 * @returns whether there are any
 */
async function settleReplayed({
  clickhouse,
  watermark,
}: Pick<Service, "clickhouse" | "watermark">): Promise<boolean> {
  const replayed = "SELECT 1 FROM rejects FINAL WHERE state = 'replayed' LIMIT 1";
  if ((await clickhouse.rows(replayed)).length === 0) return false;
  const complete = await watermark.completeTo();
  // A replay is marked with the moment before its new receipt time (workspaces/rejects/replay.ts).
  const settled = `state = 'replayed' AND revision < ${complete}`;
  const [waiting] = await clickhouse.rows<{ found: string }>(
    `SELECT count() AS found FROM rejects FINAL WHERE ${settled}`,
  );
  if (waiting === undefined || waiting.found === "0") return true;
  await clickhouse.write(
    `INSERT INTO rejects
     SELECT workspace, environment, event_id, provider, native_type, received_at, step, reason,
            detail, partition, offset, 'resolved', ${complete}
     FROM rejects FINAL WHERE ${settled}`,
    {},
    "bookkeeping",
  );
  return true;
}
