/** One process of the processors: what it keeps in memory, and its end. */
import { AssertionError } from "chai";
import type { LogRecord } from "../../stores/log/log.js";
import type { Message } from "../../processors/book/booked.js";
import { Bookkeeper, type BookingService } from "../../processors/book/bookkeeper.js";
import { completeEvents, type EnrichingService } from "../../processors/enrich/enrich-required.js";
import { normalize } from "../../processors/normalize/normalize.js";
import { latch } from "../harness/promises.js";
import {
  type Around,
  type Fault,
  faultyClickHouse,
  faultyLog,
  faultySkus,
  faultyState,
  Injected,
} from "./faults.js";

export const groupNames = ["normalize", "complete", "book"] as const;
export type Group = (typeof groupNames)[number];

/** What one process has of its own, and the stores it shares with the others. */
export interface Opened {
  readonly normalizing: EnrichingService;
  readonly booking: BookingService;
  /** Around each call of a store; left out: nothing. */
  readonly call?: Around;
}

export interface Handled {
  /** What has still to be finished before the offset may move. */
  readonly finished: Promise<void>;
}

export class Process {
  isDead = false;
  /** Rejects when it dies: what it was waiting for is of no account any more. */
  readonly #death: Promise<never>;
  #end: () => void = () => {};
  readonly #inFlight = new Set<Promise<unknown>>();
  /** Of the handlers that are running. */
  readonly #faults: Readonly<Record<Group, Set<Fault>>>;
  readonly #services: Readonly<Record<"normalize" | "complete", EnrichingService>>;
  readonly #bookkeeper: Bookkeeper;
  readonly #call: Around;
  #standing: { readonly woken: Promise<void>; readonly wake: () => void } | null = null;

  constructor(
    { normalizing, booking, call = (work) => work() }: Opened,
    /** The fault of what is written when no handler waits for it. */
    private readonly behind: () => Fault,
  ) {
    this.#call = call;
    this.#death = new Promise((_, reject) => {
      this.#end = () => reject(new Injected("the process is dead"));
    });
    this.#death.catch(() => undefined);
    this.#faults = { normalize: new Set(), complete: new Set(), book: new Set() };
    const portsOf = (group: Group) => ({
      clickhouse: faultyClickHouse(normalizing.clickhouse, this.#around(group), this.#aroundBehind),
      log: faultyLog(normalizing.log, this.#around(group)),
    });
    this.#services = {
      normalize: { ...normalizing, ...portsOf("normalize") },
      complete: { ...normalizing, ...portsOf("complete") },
    };
    const skus = faultySkus(booking.skus, this.#around("book"));
    const state = faultyState(booking.state, this.#around("book"), this.#aroundBehind);
    const unpublished = async ({ topic, key }: Message, error: unknown): Promise<void> => {
      if (this.isDead) throw error;
      // No message of the proof is at fault.
      throw new AssertionError(`${topic}: a message of ${key} was given up: ${String(error)}`);
    };
    this.#bookkeeper = new Bookkeeper({ ...booking, ...portsOf("book"), skus, state, unpublished });
    this.#bookkeeper.hasten();
  }

  /** @throws Injected */
  handle(group: Group, records: readonly LogRecord[], fault: Fault): Promise<Handled> {
    this.#faults[group].add(fault);
    const handled = this.#handle(group, records).finally(() => this.#faults[group].delete(fault));
    return Promise.race([handled, this.#death]);
  }

  async #handle(group: Group, records: readonly LogRecord[]): Promise<Handled> {
    if (group === "normalize") await normalize(this.#services.normalize, records);
    if (group === "complete") await completeEvents(this.#services.complete, records);
    const left = group === "book" ? await this.#bookkeeper.handle(records) : undefined;
    const finished = Promise.race([left?.finished, this.#death]);
    // Who waits for it is told; until then a failure must not count as unhandled.
    finished.catch(() => undefined);
    return { finished };
  }

  die(): void {
    this.isDead = true;
    this.wake();
    this.#end();
  }

  /** Resolves when it wakes. */
  standStill(): Promise<void> {
    if (this.#standing === null) {
      const [woken, wake] = latch();
      this.#standing = { woken, wake };
    }
    return this.#standing.woken;
  }

  get isStanding(): boolean {
    return this.#standing !== null;
  }

  wake(): void {
    this.#standing?.wake();
    this.#standing = null;
  }

  /** Resolves when nothing it began is running any more. */
  async ended(): Promise<void> {
    await this.#bookkeeper.close();
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  #around(group: Group): Around {
    return (work) =>
      this.#alive(() => {
        const called = () => this.#call(work);
        const fault = [...this.#faults[group]].find(({ hasFired }) => !hasFired);
        return fault === undefined ? called() : fault.around(called);
      });
  }

  readonly #aroundBehind: Around = (work) =>
    this.#alive(() => this.#behindNow().around(() => this.#call(work)));

  #behindFault: Fault | null = null;

  #behindNow(): Fault {
    if (this.#behindFault === null || this.#behindFault.hasFired) {
      this.#behindFault = this.behind();
    }
    return this.#behindFault;
  }

  /** The dead call nobody, and who stands still calls when it wakes. */
  async #alive<T>(work: () => Promise<T>): Promise<T> {
    await this.#standing?.woken;
    if (this.isDead) throw new Injected("the process is dead");
    const running = work();
    this.#inFlight.add(running);
    try {
      return await running;
    } finally {
      this.#inFlight.delete(running);
    }
  }
}
