/**
 * The in-flight receipts of several processes on one log. Each promises in Postgres not to stamp
 * anything earlier than its earliest call in flight; the earliest promise bounds what any process
 * may report as complete (docs/decisions/exactly-once.md). Their clocks need not agree.
 */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import {
  earliestOf,
  type InFlight,
  type InFlightReceipts,
  LocalReceipts,
  type Receipt,
} from "./in-flight-receipts.js";
import type { Logger } from "../../runtime/logger.js";
import { type Postgres, PostgresUnavailable } from "../postgres/postgres.js";
import type { Releases } from "../../runtime/releases.js";
import { OthersRun, refuseBesideCommand } from "../postgres/exclusive-lease.js";
import { type ClockGiven, PersistedWatermark } from "./persisted-watermark.js";

const promiseEveryMs = 200;
/** How long callers share an answer of Postgres. */
const askEveryMs = 50;
/** Before a promise expires, for the time a statement may take on its way. */
const marginMs = 2_000;

/** @throws OthersRun beside a command that must be alone, ClockSetBack */
export async function openSharedReceipts(given: SharedReceiptsGiven): Promise<InFlightReceipts> {
  const { process, postgres, logger, config, now, onOthers } = given;
  const receipts = new SharedReceipts(process, postgres, logger, config, now, onOthers);
  given.releases.push("promises of the receipts", () => receipts.close());
  await receipts.open();
  return receipts;
}

interface SharedReceiptsGiven {
  /** The unique name of this process. */
  readonly process: string;
  readonly postgres: Postgres;
  readonly logger: Logger;
  readonly config: ClockGiven;
  readonly releases: Releases;
  readonly now: () => number;
  /**
   * Called when it was silent so long that a command that must be alone could begin: it should end
   * at once.
   */
  readonly onOthers: (why: OthersRun) => void;
}

/**
 * Processes that have promised nothing for a while: killed, stopped or cut off. None while this one
 * is late itself, because on a busy machine or Postgres the others may be alive.
 */
export async function silentProcesses(postgres: Postgres, own: string): Promise<Set<string>> {
  const rows = await postgres.query<{ process: string }>(
    `SELECT process FROM ingest_processes WHERE until < clock_timestamp() + $1::float8 * ${ms}
       AND EXISTS (SELECT 1 FROM ingest_processes
         WHERE process = $2 AND until > clock_timestamp() + $3::float8 * ${ms})`,
    [limits.receiptsLeaseMs - silentMs, own, limits.receiptsLeaseMs - lateOwnMs],
  );
  return new Set(rows.map(({ process }) => process));
}

/** Twenty promises missed; as many show that this process is late, too. */
const silentMs = 20 * promiseEveryMs;
const lateOwnMs = 5 * promiseEveryMs;

class SharedReceipts implements InFlightReceipts {
  readonly #own: LocalReceipts;
  readonly #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  /** ms since 1970: the last promise, or the moment of joining. Later stamps are not below it. */
  #promised = 0;
  /** On `performance.now()`: the last promise holds until then. */
  #holdsUntil = 0;
  /** ms since 1970: stamps before it are from a time whose promise expired. */
  #joinedAt = 0;
  #reported: PersistedWatermark | null = null;
  #asked: { readonly inFlight: Promise<InFlight>; readonly until: number } | null = null;

  constructor(
    private readonly process: string,
    readonly postgres: Postgres,
    readonly logger: Logger,
    readonly config: ClockGiven,
    now: () => number,
    private readonly onOthers: (why: OthersRun) => void,
  ) {
    this.#own = new LocalReceipts(now);
  }

  async open(): Promise<void> {
    this.#reported = await PersistedWatermark.open(this, await this.#now(), promiseEveryMs);
    await this.#join();
    this.#ended = this.#keepPromising();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
    const { lateMs } = this.#own;
    // The last promise stays while records that were sent and refused may follow.
    const left =
      lateMs === 0
        ? this.postgres.query("DELETE FROM ingest_processes WHERE process = $1", [this.process])
        : this.postgres.query(
            `UPDATE ingest_processes SET until = clock_timestamp() + $2::float8 * ${ms}
             WHERE process = $1`,
            [this.process, lateMs],
          );
    await left.catch((error: unknown) =>
      this.logger.warn({ err: error }, "a promise is left to expire"),
    );
  }

  receive(notBefore: number, workspace?: string): Receipt {
    this.#assertHolds();
    return this.#own.receive(Math.max(notBefore, this.#promised), workspace);
  }

  check(receivedAt: number): void {
    this.#assertHolds();
    if (receivedAt < this.#joinedAt) throw new PostgresUnavailable("its receipt time has lapsed");
  }

  get calls(): number {
    return this.#own.calls;
  }

  async earliest(workspace?: string): Promise<number> {
    const at = performance.now();
    if (this.#asked === null || this.#asked.until <= at) {
      const inFlight = this.#ask();
      this.#asked = { inFlight, until: at + askEveryMs };
      inFlight.catch(() => (this.#asked = null));
    }
    const earliest = earliestOf(await this.#asked.inFlight, workspace);
    return this.#reported === null ? earliest : this.#reported.upTo(earliest);
  }

  #assertHolds(): void {
    if (performance.now() < this.#holdsUntil) return;
    throw new PostgresUnavailable("no receipt times can be promised now");
  }

  async #keepPromising(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (!(await this.#promise())) await this.#join();
      } catch (error) {
        if (error instanceof OthersRun) return this.onOthers(error);
        if (performance.now() > this.#holdsUntil) {
          this.logger.error(
            { err: error },
            "no receipt times can be promised; no events are accepted",
          );
        }
      }
      // Rejects when stopping, which ends the loop.
      await pause(promiseEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** @returns false when the last promise has expired, or nearly */
  async #promise(): Promise<boolean> {
    const begun = performance.now();
    const { inFlight } = this.#own;
    // Set first, so that no stamp slips below while Postgres stores it.
    this.#promised = Math.max(this.#promised, inFlight.others);
    const kept = await this.postgres.query(
      `UPDATE ingest_processes SET earliest = $2, others = $3, by_workspace = $4,
         until = clock_timestamp() + $5::float8 * ${ms}
       WHERE process = $1 AND until > clock_timestamp() + $6::float8 * ${ms} RETURNING process`,
      [
        this.process,
        earliestOf(inFlight),
        inFlight.others,
        JSON.stringify(Object.fromEntries(inFlight.byWorkspace)),
        limits.receiptsLeaseMs,
        marginMs,
      ],
    );
    if (kept.length === 0) return false;
    this.#holdsUntil = begun + limits.receiptsLeaseMs - marginMs;
    return true;
  }

  /**
   * The time is read after the row is visible to all. A process that reported a `complete_to`
   * without seeing this row had read an earlier time, so no stamp of this process is at or before
   * it.
   */
  async #join(): Promise<void> {
    this.#holdsUntil = 0;
    const begun = performance.now();
    await this.postgres.query(
      `INSERT INTO ingest_processes (process, earliest, until)
       VALUES ($1, ${clock}, clock_timestamp() + $2::float8 * ${ms})
       ON CONFLICT (process) DO UPDATE SET earliest = excluded.earliest, until = excluded.until,
         others = NULL, by_workspace = NULL`,
      [this.process, limits.receiptsLeaseMs],
    );
    await refuseBesideCommand(this.postgres, this.process);
    this.#joinedAt = Math.max(await this.#now(), this.#reported?.floor ?? 0) + 1;
    this.#promised = Math.max(this.#promised, this.#joinedAt);
    await this.postgres.query(
      `DELETE FROM ingest_processes WHERE until < clock_timestamp() - $1::float8 * ${ms}`,
      [limits.receiptsLeaseMs],
    );
    this.#holdsUntil = begun + limits.receiptsLeaseMs - marginMs;
  }

  async #now(): Promise<number> {
    const [row] = await this.postgres.query<{ at: bigint }>(`SELECT ${clock} AS at`);
    if (row === undefined) throw new Error("Postgres has no clock");
    return Number(row.at);
  }

  /** Without any promise, the next one counts, which will be later than now. */
  async #ask(): Promise<InFlight> {
    const rows = await this.postgres.query<{
      now: bigint;
      others: bigint | null;
      by_workspace: Readonly<Record<string, number>> | null;
    }>(
      `SELECT ${clock} AS now, coalesce(others, earliest) AS others, by_workspace
       FROM (VALUES (1)) AS always LEFT JOIN ingest_processes ON until > clock_timestamp()`,
    );
    const byWorkspace = new Map<string, number>();
    for (const [workspace, at] of rows.flatMap((row) => Object.entries(row.by_workspace ?? {}))) {
      byWorkspace.set(workspace, Math.min(at, byWorkspace.get(workspace) ?? at));
    }
    const others = rows.flatMap((row) => [Number(row.now), Number(row.others ?? row.now)]);
    return { others: Math.min(...others), byWorkspace };
  }
}

const ms = "interval '1 millisecond'";
/** Of Postgres, in ms since 1970. */
const clock = "floor(extract(epoch FROM statement_timestamp()) * 1000)::int8";
