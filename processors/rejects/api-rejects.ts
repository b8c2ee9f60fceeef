/**
 * Rejects that wait for a provider's API, by workspace and provider. One of them is tried now and
 * then; all are replayed once the API has answered since the last try. The pause doubles while some
 * are left, so that a dead API costs little.
 */
import { replayAll, replayRejects, type ReplayService } from "../../workspaces/rejects/replay.js";

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

export class WaitingForApis {
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
