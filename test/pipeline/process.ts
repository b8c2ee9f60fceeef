/** One process of the processors: what it keeps in memory, and its end. */
import { AsyncLocalStorage } from "node:async_hooks";
import { AssertionError } from "chai";
import type { Log, LogRecord } from "../../stores/log/log.js";
import type { State } from "../../stores/state/state.js";
import type { Service } from "../../service.js";
import { openSkus } from "../../workspaces/catalogue/skus.js";
import type { Message } from "../../processors/book/booked.js";
import { Bookkeeper, type BookingService } from "../../processors/book/bookkeeper.js";
import { completeEvents, type EnrichingService } from "../../processors/enrich/enrich-required.js";
import { normalize } from "../../processors/normalize/normalize.js";
import { createProviders } from "../../providers/index.js";
import { enrichingOver } from "../harness/enriching.js";
import { withAnswersInBodies } from "../model/compare/google-answers.js";
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

export type PipelineService = Pick<
  Service,
  "clickhouse" | "config" | "integrations" | "logger" | "postgres" | "rates" | "vault" | "watermark"
>;

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
  /** Of the handler that a call comes from. */
  readonly #handlers = new AsyncLocalStorage<Fault>();
  readonly #normalizing: EnrichingService;
  readonly #bookkeeper: Bookkeeper;

  private constructor(
    normalizing: EnrichingService,
    booking: BookingService,
    /** The fault of what is written when no handler waits for it. */
    private readonly behind: () => Fault,
  ) {
    this.#death = new Promise((_, reject) => {
      this.#end = () => reject(new Injected("the process is dead"));
    });
    this.#death.catch(() => undefined);
    const ports = {
      clickhouse: faultyClickHouse(normalizing.clickhouse, this.#around, this.#aroundBehind),
      log: faultyLog(normalizing.log, this.#around),
    };
    this.#normalizing = { ...normalizing, ...ports };
    const skus = faultySkus(booking.skus, this.#around);
    const state = faultyState(booking.state, this.#around);
    const unpublished = async ({ topic, key }: Message, error: unknown): Promise<void> => {
      if (this.isDead) throw error;
      // No message of the proof is at fault.
      throw new AssertionError(`${topic}: a message of ${key} was given up: ${String(error)}`);
    };
    this.#bookkeeper = new Bookkeeper({ ...booking, ...ports, skus, state, unpublished });
    this.#bookkeeper.hasten();
  }

  /** @param behind the fault of what is written when no handler waits for it */
  static async start(
    service: PipelineService,
    log: Log,
    state: State,
    behind: () => Fault,
  ): Promise<Process> {
    // Without credentials the APIs answer nothing, and events are booked as they stand.
    const providers = withAnswersInBodies(createProviders(service.config));
    const normalizing = await enrichingOver({ ...service, log }, { providers });
    const booking = { ...service, log, skus: openSkus(service.postgres), state };
    return new Process(normalizing, booking, behind);
  }

  /** @throws Injected */
  handle(group: Group, records: readonly LogRecord[], fault: Fault): Promise<Handled> {
    const handled = this.#handlers.run(fault, async () => {
      if (group === "normalize") await normalize(this.#normalizing, records);
      if (group === "complete") await completeEvents(this.#normalizing, records);
      const left = group === "book" ? await this.#bookkeeper.handle(records) : undefined;
      const finished = Promise.race([left?.finished, this.#death]);
      // Who waits for it is told; until then a failure must not count as unhandled.
      finished.catch(() => undefined);
      return { finished };
    });
    return Promise.race([handled, this.#death]);
  }

  die(): void {
    this.isDead = true;
    this.#end();
  }

  /** Resolves when nothing it began is running any more. */
  async buried(): Promise<void> {
    await this.#bookkeeper.close();
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  readonly #around: Around = (work) => {
    const fault = this.#handlers.getStore();
    return this.#alive(fault === undefined ? work : () => fault.around(work));
  };

  readonly #aroundBehind: Around = (work) => this.#alive(() => this.#behindNow().around(work));

  #behindFault: Fault | null = null;

  #behindNow(): Fault {
    if (this.#behindFault === null || this.#behindFault.hasFired) this.#behindFault = this.behind();
    return this.#behindFault;
  }

  /** The dead call nobody. */
  async #alive<T>(work: () => Promise<T>): Promise<T> {
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
