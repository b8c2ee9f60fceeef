/** One process of the processors: what it keeps in memory, and its end. */
import type { Log, LogRecord } from "../../log/log.js";
import type { Service } from "../../runtime/service.js";
import { openSkus } from "../../catalogue/skus.js";
import {
  type BookingService,
  bookMoney,
  openSoleWriter,
} from "../../processors/book/money/book-money.js";
import { bookSubscriptions } from "../../processors/book/subscriptions/book-subscriptions.js";
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
  Injected,
} from "./faults.js";

export const groupNames = ["normalize", "complete", "money", "subscriptions"] as const;
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
  readonly #inFlight = new Set<Promise<unknown>>();

  private constructor(
    private readonly normalizing: EnrichingService,
    private booking: BookingService,
  ) {}

  /** @param behind the fault of what is written when no handler runs any more */
  static async start(service: PipelineService, log: Log, behind: () => Fault): Promise<Process> {
    // Without credentials the APIs answer nothing, and events are booked as they stand.
    const providers = withAnswersInBodies(createProviders(service.config));
    const normalizing = await enrichingOver({ ...service, log }, { providers });
    const booking = { ...service, log, skus: openSkus(service.postgres) };
    const process = new Process(normalizing, booking);
    let fault = behind();
    const around: Around = (work) => {
      if (fault.hasFired) fault = behind();
      return fault.around(work);
    };
    const clickhouse = faultyClickHouse(service.clickhouse, process.#alive(around));
    const soleWriter = await openSoleWriter({ ...service, clickhouse, log });
    process.booking = { ...booking, soleWriter };
    return process;
  }

  /** @throws Injected */
  async handle(group: Group, records: readonly LogRecord[], fault: Fault): Promise<Handled> {
    const around = this.#alive((work) => fault.around(work));
    const ports = {
      clickhouse: faultyClickHouse(this.normalizing.clickhouse, around),
      log: faultyLog(this.normalizing.log, around),
    };
    const skus = faultySkus(this.booking.skus, around);
    const whole = { finished: Promise.resolve() };
    if (group === "normalize") await normalize({ ...this.normalizing, ...ports }, records);
    if (group === "complete") await completeEvents({ ...this.normalizing, ...ports }, records);
    if (group === "money") {
      return (await bookMoney({ ...this.booking, ...ports, skus }, records)) ?? whole;
    }
    if (group === "subscriptions") {
      await bookSubscriptions({ ...this.booking, ...ports, skus }, records);
    }
    return whole;
  }

  /** Resolves when nothing it began is running any more. */
  async buried(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** The dead call nobody. */
  #alive(around: Around): Around {
    return async (work) => {
      const running = around(() => {
        if (this.isDead) throw new Injected("the process is dead");
        return work();
      });
      this.#inFlight.add(running);
      try {
        return await running;
      } finally {
        this.#inFlight.delete(running);
      }
    };
  }
}
