/**
 * Replays rejects without being asked: those that wait for a rate at a new edition, for an object
 * (a discount) when one is reported, for a provider's API when it answers again or other
 * credentials were entered. Resolves those that were booked.
 */
import { replayOwed } from "../../workspaces/rejects/credential-replays.js";
import { tryExclusively } from "../../stores/postgres/leases.js";
import { rejectNews } from "../../workspaces/rejects/rejects.js";
import { replayAll, replayRejects, type ReplayService } from "../../workspaces/rejects/replay.js";
import { Lookout } from "../../runtime/lookout.js";
import type { Service } from "../../service.js";
import { LogThrottle } from "../../runtime/log-throttle.js";

const waitsForRate = "fx_rate_missing";
const waitsForObject = "enrichment_unavailable";
const settleEveryMs = 2_000;
const calmSettleEveryMs = 30_000;
/** Workspaces that wait for their replay; beyond it new ones are dropped, with a warning. */
const workspacesWaitingMax = 10_000;

interface RejectsUpkeep {
  /** What its events lacked may have been reported now; replayed within `settleEveryMs`. */
  replaySoon(workspace: string): void;
  /** A rate is known for which an event was rejected. */
  ratesKnown(): void;
  /** This provider's API answered for an event of this workspace. */
  answered(workspace: string, provider: string): void;
}

export function startRejectRetries(service: Service): RejectsUpkeep {
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
  service.releases.push("news of rates", stopListening);
  service.releases.run("rejects upkeep", async (stop) => {
    while (!stop.aborted) {
      await lookout.rest(stop);
      if (stop.aborted) return;
      try {
        if (service.log.shared) await tryExclusively(service.postgres, "rejects upkeep", upkeep);
        else await upkeep();
      } catch (error) {
        if (failures.turn("upkeep") === null) continue;
        service.logger.error({ err: error }, "rejects could not be kept up; trying again");
      }
    }
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

const reason = "enrichment_unavailable";
/** Rejects that decoding made without asking wait for something else. */
const steps = ["complete", "enrich"];
const pauseMsFirst = 2_000;
const pauseMsMax = 10 * 60 * 1000;
const waitingMax = 10_000;

interface Wait {
  pauseMs: number;
  nextAt: number;
  answered: boolean;
}

/** Open rejects of one provider in one workspace; `newest` is one of them. */
interface Waiting {
  readonly workspace: string;
  readonly provider: string;
  readonly newest: string;
}

/**
 * Rejects that wait for a provider's API, by workspace and provider. One of them is tried now and
 * then; all are replayed once the API has answered since the last try. The pause doubles while some
 * are left, so that a dead API costs little.
 */
class WaitingForApis {
  readonly #waits = new Map<string, Wait>();

  constructor(private readonly service: ReplayService) {}

  answered(workspace: string, provider: string): void {
    const wait = this.#waits.get(nameOf(workspace, provider));
    if (wait !== undefined) wait.answered = true;
  }

  /**
   * To be called often: most calls find nothing to do.
   * @returns whether any wait
   */
  async replay(): Promise<boolean> {
    const rows = await this.service.clickhouse.rows<Waiting>(
      `SELECT workspace, provider, argMax(event_id, received_at) AS newest FROM rejects FINAL
       WHERE state = 'open' AND reason = {reason:String} AND step IN {steps:Array(String)}
       GROUP BY workspace, provider LIMIT {most:UInt32}`,
      { reason, steps, most: waitingMax },
    );
    const open = new Set(rows.map(({ workspace, provider }) => nameOf(workspace, provider)));
    for (const [name, wait] of this.#waits) {
      // Kept through one more pause: what was just tried is open again only after its answer.
      if (!open.has(name) && wait.nextAt < Date.now()) this.#waits.delete(name);
    }
    for (const row of rows) await this.#replayOf(row);
    return rows.length > 0;
  }

  async #replayOf({ workspace, provider, newest }: Waiting): Promise<void> {
    const name = nameOf(workspace, provider);
    const soon = { pauseMs: pauseMsFirst, nextAt: Date.now() + pauseMsFirst, answered: false };
    const wait = this.#waits.get(name) ?? soon;
    this.#waits.set(name, wait);
    if (wait.nextAt > Date.now()) return;
    const all = wait.answered;
    wait.answered = false;
    wait.pauseMs = Math.min(wait.pauseMs * 2, pauseMsMax);
    wait.nextAt = Date.now() + wait.pauseMs;
    if (!all) {
      await replayRejects(this.service, { workspace, reason, ids: [newest] });
      return;
    }
    for (const step of steps) await replayAll(this.service, { workspace, provider, reason, step });
  }
}

function nameOf(workspace: string, provider: string): string {
  return JSON.stringify([workspace, provider]);
}
