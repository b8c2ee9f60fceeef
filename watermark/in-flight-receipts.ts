/**
 * The calls that are being taken: each is stamped with its receipt time and counted until its
 * record is in the log or it was refused. `complete_to` stays below the earliest of them.
 */
import { AppendUncertain } from "../log/log.js";
import type { PersistedWatermark } from "./persisted-watermark.js";

/**
 * How long after that a record that was sent may still become readable: a leader waits for a
 * stalled replica for one and a half times `replica.lag.time.max.ms` (30 s), then goes on alone.
 */
export const kafkaLateMsMax = 45_000;

export interface Receipt {
  /** ms since 1970 */
  readonly receivedAt: number;
  /** The call was not taken, or its record is in the log. */
  settle(): void;
  /** The call was refused, but its record may still come to lie in the log for a while. */
  settleLater(): void;
}

/** Takes what was stamped; its receipt is settled when that ends, or when nothing can follow. */
export async function settledAfter<Result>(
  receipt: Receipt,
  take: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await take();
    receipt.settle();
    return result;
  } catch (error) {
    if (error instanceof AppendUncertain) receipt.settleLater();
    else receipt.settle();
    throw error;
  }
}

export interface InFlightReceipts {
  /** Stamps a call. @param notBefore ms since 1970 @throws when it cannot be counted now */
  receive(notBefore: number): Receipt;
  /** To be asked right before a record goes to the log. @throws when its stamp counts no more */
  check(receivedAt: number): void;
  /** Calls in flight in this process. */
  readonly calls: number;
  /** ms since 1970; no call in flight, now or later, is earlier. */
  earliest(): Promise<number>;
}

/** Those of a process that owns its log. */
export class LocalReceipts implements InFlightReceipts {
  readonly #stamps = new Map<symbol, number>();
  /**
   * ms since 1970: what was reported as earliest. Nothing is stamped below it if the clock is set.
   */
  #reported = 0;
  readonly #late: LateStamps;

  /**
   * @param kept left out where nothing reported outlives the process
   * @param elapsed ms by a clock that is never set
   */
  constructor(
    private readonly now: () => number,
    private readonly kept?: PersistedWatermark,
    elapsed: () => number = () => performance.now(),
  ) {
    this.#late = new LateStamps(elapsed);
  }

  receive(notBefore: number): Receipt {
    const receivedAt = Math.max(this.#clock(), notBefore, this.#reported);
    const token = Symbol();
    this.#stamps.set(token, receivedAt);
    return {
      receivedAt,
      settle: () => void this.#stamps.delete(token),
      settleLater: () => {
        if (this.#stamps.delete(token)) this.#late.add(receivedAt);
      },
    };
  }

  check(): void {}

  get calls(): number {
    return this.#stamps.size;
  }

  /** What `earliest` resolves to. */
  get earliestNow(): number {
    return Math.min(this.#clock(), this.#late.earliest, ...this.#stamps.values());
  }

  /** ms until no record of a call that was refused can follow. */
  get lateMs(): number {
    return this.#late.leftMs;
  }

  async earliest(): Promise<number> {
    const earliest = this.earliestNow;
    this.#reported = Math.max(this.#reported, earliest);
    return this.kept === undefined ? earliest : this.kept.upTo(earliest);
  }

  /** After all that processes before this one have reported. */
  #clock(): number {
    return this.kept === undefined ? this.now() : Math.max(this.now(), this.kept.floor + 1);
  }
}

/** Stamps of refused calls whose records may still appear; grouped by second. */
class LateStamps {
  /** By the second at whose end none of them can follow any more: the earliest. */
  readonly #earliest = new Map<number, number>();

  constructor(private readonly elapsed: () => number) {}

  add(receivedAt: number): void {
    const until = Math.ceil((this.elapsed() + kafkaLateMsMax) / secondMs);
    this.#earliest.set(until, Math.min(receivedAt, this.#earliest.get(until) ?? receivedAt));
  }

  get earliest(): number {
    this.#forget();
    return Math.min(Number.POSITIVE_INFINITY, ...this.#earliest.values());
  }

  get leftMs(): number {
    this.#forget();
    const last = Math.max(0, ...this.#earliest.keys());
    return Math.max(0, last * secondMs - this.elapsed());
  }

  #forget(): void {
    const elapsed = this.elapsed();
    for (const until of this.#earliest.keys()) {
      if (until * secondMs <= elapsed) this.#earliest.delete(until);
    }
  }
}

const secondMs = 1_000;
