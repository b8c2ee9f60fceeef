/**
 * Up to when `complete_to` was reported, kept in Postgres across restarts and always a little
 * ahead, so that an answer need not wait for a write. If the clock was set back meanwhile, a new
 * process stamps nothing at or before it: what was reported as known at a moment stays final.
 */
import type { Config } from "../../config.js";
import type { Logger } from "../../runtime/logger.js";
import type { Postgres } from "../postgres/postgres.js";

/** After a larger step back of the clock the start is refused instead of waiting. */
export const clockSetBackMsMax = 2 * 60 * 60 * 1000;

/** What this process would stamp was reported as complete before. */
export class ClockSetBack extends Error {
  override readonly name = "ClockSetBack";

  constructor(now: number, before: number) {
    const [here, there] = [new Date(now).toISOString(), new Date(before).toISOString()];
    super(
      `The clock says ${here}, and this installation has reported figures as of ${there}. ` +
        "Set the clock and start again. If the clock is right and was ahead before, start with " +
        `CLOCK_SET_BACK_FROM=${there}: what was recorded until then keeps its times.`,
    );
  }
}

export type ClockGiven = Pick<Config, "CLOCK_SET_BACK_FROM">;

export class PersistedWatermark {
  #keeping: Promise<void> | null = null;
  #latest = 0;

  private constructor(
    private readonly postgres: Postgres,
    private readonly logger: Logger,
    /** ms by which the kept value is ahead of the clock. */
    private readonly aheadMs: number,
    /** ms since 1970: what others reported before is not later. */
    readonly floor: number,
    private kept: number,
  ) {}

  /**
   * @param now ms since 1970, by the clock that is reported by
   * @throws ClockSetBack when it was set back by more than is worth waiting for
   */
  static async open(
    {
      postgres,
      logger,
      config,
    }: { readonly postgres: Postgres; readonly logger: Logger; readonly config: ClockGiven },
    now: number,
    aheadMs: number,
  ): Promise<PersistedWatermark> {
    const [row] = await postgres.query<{ until: bigint }>("SELECT until FROM persisted_watermark");
    const before = Number(row?.until ?? 0n);
    const behindMs = before - now;
    const isBelieved = before <= (config.CLOCK_SET_BACK_FROM ?? 0);
    const isFar = behindMs > clockSetBackMsMax;
    if (isFar && !isBelieved) throw new ClockSetBack(now, before);
    const floor = isFar ? 0 : before;
    if (behindMs > aheadMs) {
      const reported = { behindSeconds: Math.round(behindMs / 1000), isKept: floor > 0 };
      logger.warn(
        reported,
        "the clock was set back: complete_to does not move until it catches up",
      );
    }
    const opened = new PersistedWatermark(postgres, logger, aheadMs, floor, floor);
    await opened.#keep(Math.max(floor, now + aheadMs));
    return opened;
  }

  /** @returns `at`, ms since 1970, once it may be reported, which is mostly at once */
  async upTo(at: number): Promise<number> {
    // Nobody waits for it; after a failure the next call tries again.
    if (at > this.kept - this.aheadMs / 2) this.#keepAhead(at).catch(() => undefined);
    while (at > this.kept) await this.#keepAhead(at);
    this.#latest = Math.max(this.#latest, at);
    return at;
  }

  /** For a process that is alone: the next one need not begin ahead of the clock. */
  async end(): Promise<void> {
    await this.#keeping?.catch(() => undefined);
    try {
      const until = Math.max(this.floor, this.#latest);
      await this.postgres.query("UPDATE persisted_watermark SET until = $1", [until]);
    } catch (error) {
      this.logger.warn({ err: error }, "complete_to is kept a moment ahead of what was reported");
    }
  }

  #keepAhead(at: number): Promise<void> {
    this.#keeping ??= this.#keep(at + this.aheadMs).finally(() => (this.#keeping = null));
    return this.#keeping;
  }

  async #keep(until: number): Promise<void> {
    await this.postgres.query(
      `INSERT INTO persisted_watermark (until) VALUES ($1) ON CONFLICT (one) DO UPDATE
       SET until = CASE WHEN persisted_watermark.until > $2 THEN excluded.until
                        ELSE greatest(persisted_watermark.until, excluded.until) END`,
      [until, until + clockSetBackMsMax],
    );
    this.kept = until;
  }
}
