/**
 * The lease of a command that needs the installation for itself: a row in Postgres that the command
 * renews, that every start checks, and that expires when the command dies. Command and start each
 * write their own row before they look for the other's, so if both begin at once, at least one sees
 * the other and ends. Embedded, the lock of the data folder does this.
 */
import { limits } from "../../config.js";
import { endLease, keepLease, takeLease } from "./leases.js";
import type { Logger } from "../../runtime/logger.js";
import type { Postgres } from "./postgres.js";
import type { Releases } from "../../runtime/releases.js";

/** Processes work on the installation that must not; the message says what to do. */
export class OthersRun extends Error {
  override readonly name = "OthersRun";
}

export interface ExclusiveLease {
  /**
   * To be called right before any write.
   * @throws OthersRun
   */
  check(): void;
}

/**
 * Until its release.
 * @throws OthersRun while any process has the installation open, or another such command
 */
export async function takeExclusiveLease(given: {
  /** The unique name of this process. */
  readonly process: string;
  readonly postgres: Postgres;
  readonly logger: Logger;
  readonly releases: Releases;
  /** Called at most once, when other processes may have started: the command must end at once. */
  readonly onOthers: (why: OthersRun) => void;
}): Promise<ExclusiveLease> {
  const { postgres, process, logger, onOthers } = given;
  const sole = new RenewedRow(postgres, process, logger, onOthers);
  given.releases.push("being alone", () => sole.end());
  await sole.begin();
  await refuseBesideOthers(postgres);
  return sole;
}

/** @throws OthersRun while any process has the installation open */
async function refuseBesideOthers(postgres: Postgres): Promise<void> {
  const [row] = await postgres.query<{ others: number }>(
    "SELECT count(*)::int4 AS others FROM ingest_processes WHERE until > clock_timestamp()",
  );
  const others = row?.others ?? 0;
  if (others === 0) return;
  throw new OthersRun(
    `${others} process${others === 1 ? " runs" : "es run"} on these servers: stop them first. ` +
      `A killed one is forgotten after ${limits.receiptsLeaseMs / 1_000} seconds.`,
  );
}

/** @throws OthersRun while another process than this one must be alone */
export async function refuseBesideCommand(postgres: Postgres, process: string): Promise<void> {
  const found = await postgres.query(
    "SELECT 1 FROM leases WHERE name = $1 AND holder <> $2 AND until > clock_timestamp()",
    [leaseName, process],
  );
  if (found.length > 0) throw commandWorks();
}

const leaseName = "being alone";
const renewEveryMs = 1_000;
/** Before the row expires, for the time a statement may take on its way. */
const marginMs = 2_000;

class RenewedRow implements ExclusiveLease {
  /** On `performance.now()`. */
  #holdsUntil = 0;
  #renewal: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | null = null;

  constructor(
    private readonly postgres: Postgres,
    private readonly process: string,
    private readonly logger: Logger,
    private readonly onOthers: (why: OthersRun) => void,
  ) {}

  async begin(): Promise<void> {
    const begun = performance.now();
    if (!(await takeLease(this.postgres, leaseName, this.process, limits.leaseMs))) {
      throw commandWorks();
    }
    this.#holdsUntil = begun + limits.leaseMs - marginMs;
    this.#renewal = setInterval(() => this.#goOn(), renewEveryMs);
  }

  async end(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#renewing;
    await endLease(this.postgres, leaseName, this.process);
  }

  check(): void {
    if (performance.now() > this.#holdsUntil) throw leaseLost();
  }

  #goOn(): void {
    if (performance.now() > this.#holdsUntil) {
      clearInterval(this.#renewal);
      this.onOthers(leaseLost());
      return;
    }
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = null));
  }

  /** Never after it has expired: others may have looked since. */
  async #renew(): Promise<void> {
    const begun = performance.now();
    try {
      const { postgres, process } = this;
      const times = { forMs: limits.leaseMs, leftMs: marginMs };
      const isKept = await keepLease(postgres, leaseName, process, times);
      this.#holdsUntil = isKept ? begun + limits.leaseMs - marginMs : 0;
    } catch (error) {
      this.logger.warn({ err: error }, "the exclusive lease could not be renewed");
    }
  }
}

function commandWorks(): OthersRun {
  return new OthersRun(
    "A command that needs these servers for itself is running (audit --repair, rebuild, replay, " +
      "restore or move): start after it has ended. A killed one is forgotten after " +
      `${limits.leaseMs / 1_000} seconds.`,
  );
}

function leaseLost(): OthersRun {
  return new OthersRun(
    "Other processes may run on these servers now: Postgres did not answer in time, or " +
      "this process was paused. What was done so far is correct; run the command again.",
  );
}
