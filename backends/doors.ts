/**
 * The calls that are being taken: each is stamped with its receipt time and counted until its
 * record is in the log or it was refused. `complete_to` stays below the earliest of them.
 */
import type { ToldTime } from "./told-time.js";

export interface Receipt {
  /** ms since 1970 */
  readonly receivedAt: number;
  /** The call was not taken, or its record is in the log. */
  settle(): void;
}

export interface Doors {
  /** Stamps a call. @param notBefore ms since 1970 @throws when it cannot be counted now */
  receive(notBefore: number): Receipt;
  /** To be asked right before a record goes to the log. @throws when its stamp counts no more */
  check(receivedAt: number): void;
  /** Calls that are being taken by this process. */
  readonly calls: number;
  /** ms since 1970; nothing earlier is at any door, or will be. */
  earliest(): Promise<number>;
}

/** Those of a process that is alone with its log. */
export class OwnDoors implements Doors {
  readonly #stamps = new Map<symbol, number>();

  /** @param told left out where nothing told outlives the process */
  constructor(
    private readonly now: () => number,
    private readonly told?: ToldTime,
  ) {}

  receive(notBefore: number): Receipt {
    const receivedAt = Math.max(this.#clock(), notBefore);
    const token = Symbol();
    this.#stamps.set(token, receivedAt);
    return { receivedAt, settle: () => this.#stamps.delete(token) };
  }

  check(): void {}

  get calls(): number {
    return this.#stamps.size;
  }

  /** What `earliest` resolves to. */
  get earliestNow(): number {
    return Math.min(this.#clock(), ...this.#stamps.values());
  }

  async earliest(): Promise<number> {
    const earliest = this.earliestNow;
    return this.told === undefined ? earliest : this.told.upTo(earliest);
  }

  /** After all that processes before this one have told. */
  #clock(): number {
    return this.told === undefined ? this.now() : Math.max(this.now(), this.told.floor + 1);
  }
}
