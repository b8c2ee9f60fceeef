/**
 * A write lane on a server: statements of one lane never overlap, whichever process sends them. Two
 * could otherwise run at once: that of another process (a consumer that was stopped for a minute
 * and wakes after another took its partition), or one whose answer was lost. Both would insert
 * *what is not there yet* twice. So all statements of a lane run in one named session of the
 * server, which refuses a second statement: the lock is held by the statement itself, and ends with
 * it.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { ClickHouseClient } from "@clickhouse/client";
import { StoreUnavailable } from "./clickhouse.js";
import { isClickHouseError, isRefusal } from "./errors.js";
import type { Writer } from "./connections.js";

/** How long a write waits for those of other processes in its lane. */
const clickhouseLaneMsMax = 600_000;

/** SESSION_IS_LOCKED: another statement of the lane is running. */
const lockedCode = "373";
/** The pause before the lane is tried again, growing to the maximum. */
const lockedPauseMsMin = 4;
const lockedPauseMsMax = 50;

export class ServerLane implements Writer {
  /** Statements whose answers were lost. They are ended before the next begins. */
  readonly #lost = new Set<string>();

  /** @param session the same name in every process that writes to these tables */
  constructor(
    private readonly client: ClickHouseClient,
    private readonly session: string,
  ) {}

  /**
   * @throws StoreUnavailable when the answer was lost: the statement may have run, or may yet run,
   *   but never beside another of this lane; ClickHouseError when the server refused it
   */
  async write(statement: string): Promise<void> {
    await this.#endLost();
    const startedAt = Date.now();
    for (let pauseMs = lockedPauseMsMin; ; pauseMs = Math.min(2 * pauseMs, lockedPauseMsMax)) {
      const isLocked = await this.#isLockedOrDone(statement);
      if (!isLocked) return;
      if (Date.now() - startedAt > clickhouseLaneMsMax) throw new StoreUnavailable();
      await pause(pauseMs);
    }
  }

  async #isLockedOrDone(statement: string): Promise<boolean> {
    const queryId = randomUUID();
    try {
      await this.client.command({
        query: statement,
        query_id: queryId,
        session_id: this.session,
        // Otherwise an error after the first byte of an answer would pass for success.
        clickhouse_settings: { wait_end_of_query: 1 },
      });
      return false;
    } catch (error) {
      if (!isClickHouseError(error)) {
        this.#lost.add(queryId);
        throw new StoreUnavailable({ cause: error });
      }
      if (error.code === lockedCode) return true;
      if (isRefusal(error)) throw error;
      throw new StoreUnavailable({ cause: error });
    }
  }

  async #endLost(): Promise<void> {
    for (const queryId of this.#lost) {
      try {
        await this.client.command({
          query: "KILL QUERY WHERE query_id = {queryId:String} SYNC",
          query_params: { queryId },
        });
      } catch (error) {
        // A user who may not end it waits for its end, because it holds the lock.
        if (!isRefusal(error)) throw new StoreUnavailable({ cause: error });
      }
      this.#lost.delete(queryId);
    }
  }
}
