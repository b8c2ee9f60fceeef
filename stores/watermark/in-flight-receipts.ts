/**
 * The calls being taken: each is stamped with its receipt time and counted until its record is in
 * the log or it was refused. `complete_to` stays below the earliest of them.
 */
import { AppendUncertain, kafkaLateMsMax } from "../log/log.js";
import type { PersistedWatermark } from "./persisted-watermark.js";

export interface Receipt {
  /** ms since 1970 */
  readonly receivedAt: number;
  /** The call was refused, or its record is in the log. */
  settle(): void;
  /**
   * The call was refused, but its record may still appear in the log.
   * @param stored resolves when it is there; rejects when that stays unknown
   */
  settleLater(stored: Promise<void>): void;
}

/**
 * Does the work of a stamped call; its receipt is settled when that ends, or when no record can
 * follow.
 */
export async function settledAfter<Result>(
  receipt: Receipt,
  take: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await take();
    receipt.settle();
    return result;
  } catch (error) {
    if (error instanceof AppendUncertain) receipt.settleLater(error.stored);
    else receipt.settle();
    throw error;
  }
}

/** Calls in flight, in ms since 1970: no other call, now or later, is earlier than `others`. */
export interface InFlight {
  readonly others: number;
  /** The earliest of each workspace, for which only its own figures wait. */
  readonly byWorkspace: ReadonlyMap<string, number>;
}

/** @param workspace left out: of all of them */
export function earliestOf({ others, byWorkspace }: InFlight, workspace?: string): number {
  if (workspace === undefined) return Math.min(others, ...byWorkspace.values());
  return Math.min(others, byWorkspace.get(workspace) ?? others);
}

export interface InFlightReceipts {
  /**
   * Stamps a call.
   * @param notBefore ms since 1970
   * @param workspace whose figures wait for it; left out: all of them
   * @throws when it cannot be counted now
   */
  receive(notBefore: number, workspace?: string): Receipt;
  /**
   * To be called right before a record goes to the log.
   * @throws when its stamp counts no more
   */
  check(receivedAt: number): void;
  readonly calls: number;
  /** ms since 1970; no call of the workspace in flight, now or later, is earlier; or of any. */
  earliest(workspace?: string): Promise<number>;
}

/** Those of a process that owns its log. */
export class LocalReceipts implements InFlightReceipts {
  readonly #stamps = new Map<
    symbol,
    { readonly at: number; readonly workspace: string | undefined }
  >();
  /**
   * ms since 1970: the earliest moment given out. Nothing is stamped below it if the clock is set.
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

  receive(notBefore: number, workspace?: string): Receipt {
    const receivedAt = Math.max(this.#clock(), notBefore, this.#reported);
    const token = Symbol();
    this.#stamps.set(token, { at: receivedAt, workspace });
    return {
      receivedAt,
      settle: () => void this.#stamps.delete(token),
      settleLater: (stored) => {
        if (this.#stamps.delete(token)) this.#late.add(receivedAt, stored);
      },
    };
  }

  check(): void {}

  get calls(): number {
    return this.#stamps.size;
  }

  get inFlight(): InFlight {
    let others = Math.min(this.#clock(), this.#late.earliest);
    const byWorkspace = new Map<string, number>();
    for (const { at, workspace } of this.#stamps.values()) {
      if (workspace === undefined) others = Math.min(others, at);
      else byWorkspace.set(workspace, Math.min(at, byWorkspace.get(workspace) ?? at));
    }
    return { others, byWorkspace };
  }

  /** ms until no record of a refused call can follow. */
  get lateMs(): number {
    return this.#late.leftMs;
  }

  async earliest(workspace?: string): Promise<number> {
    const earliest = earliestOf(this.inFlight, workspace);
    this.#reported = Math.max(this.#reported, earliest);
    return this.kept === undefined ? earliest : this.kept.upTo(earliest);
  }

  /** Later than all that earlier processes have reported. */
  #clock(): number {
    return this.kept === undefined ? this.now() : Math.max(this.now(), this.kept.floor + 1);
  }
}

/** Stamps of refused calls whose records may still appear; the calls of a request share one. */
class LateStamps {
  readonly #stamps = new Map<Promise<void>, { earliest: number; until: number }>();

  constructor(private readonly elapsed: () => number) {}

  add(receivedAt: number, stored: Promise<void>): void {
    const known = this.#stamps.get(stored);
    const earliest = Math.min(receivedAt, known?.earliest ?? receivedAt);
    this.#stamps.set(stored, { earliest, until: this.elapsed() + kafkaLateMsMax });
    if (known !== undefined) return;
    stored.then(
      () => this.#stamps.delete(stored),
      () => undefined,
    );
  }

  get earliest(): number {
    this.#forget();
    const all = Array.from(this.#stamps.values(), ({ earliest }) => earliest);
    return Math.min(Number.POSITIVE_INFINITY, ...all);
  }

  get leftMs(): number {
    this.#forget();
    const last = Math.max(0, ...Array.from(this.#stamps.values(), ({ until }) => until));
    return Math.max(0, last - this.elapsed());
  }

  #forget(): void {
    const elapsed = this.elapsed();
    for (const [stored, { until }] of this.#stamps) {
      if (until <= elapsed) this.#stamps.delete(stored);
    }
  }
}
