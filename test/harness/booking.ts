/** Booking by hand, for tests that begin with facts. */
import { randomUUID } from "node:crypto";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import type { LmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import type { Left } from "../../processors/batch-coalescer.js";
import { Bookkeeper, type BookingService } from "../../processors/book/bookkeeper.js";
import type { Fact } from "../../schemas/records/records.js";
import { Fenced, type State } from "../../stores/state/state.js";
import { recordsOf } from "./facts.js";
import { openTestClickHouse, openTestLog, testLogger } from "./stores.js";

interface SuiteBooking {
  readonly clickhouse: ClickHouse;
  readonly log: LmdbLog;
  readonly booking: Booking;
  /** Of the test that runs. */
  readonly workspace: string;
  /** By a process that knows nothing but its stores. */
  book(...facts: Fact[]): Promise<void>;
  /** Of a statement about `{workspace:String}`. */
  rows<Row extends object>(sql: string): Promise<Row[]>;
}

/** Of the suite in which it is called, over a log of its own: opened before its tests. */
export function suiteBooking(name: string): SuiteBooking {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whole before anything reads it
  const suite = {} as SuiteBooking;
  before(async () => {
    const clickhouse = await openTestClickHouse();
    const log = openTestLog(name);
    Object.assign(suite, {
      clickhouse,
      log,
      booking: bookingOver(clickhouse, log),
      book: (...facts: Fact[]) => bookingOver(clickhouse, log).book(facts),
      rows: (sql: string) => clickhouse.rows(sql, { workspace: suite.workspace }),
    });
  });
  beforeEach(() => void Object.assign(suite, { workspace: `ws_${randomUUID()}` }));
  return suite;
}

/** By state: where the next facts lie on the topic. */
const ends = new WeakMap<State, bigint>();

/**
 * A process that books, with no catalogue behind it.
 * @param log its state is what is known; what is published goes there, unless `append` is given
 */
export function bookingOver(
  clickhouse: ClickHouse,
  log: LmdbLog,
  given: Partial<Pick<Log, "append" | "partitionOf">> = {},
): Booking {
  const { shared, state } = log;
  const append: Log["append"] = given.append ?? ((topic, records) => log.append(topic, records));
  const skus = { see: async () => {}, name: async () => {}, productName: async () => "" };
  const { partitionOf = () => 0 } = given;
  const facts = { append, shared, partitionOf, ends: async () => [ends.get(state) ?? 0n] };
  return new Booking({ clickhouse, log: facts, logger: testLogger, skus, state });
}

export class Booking {
  readonly #bookkeeper: Bookkeeper;

  constructor(readonly service: BookingService) {
    this.#bookkeeper = new Bookkeeper(service);
    this.#bookkeeper.hasten();
  }

  /** Resolves when all of them is written. */
  async book(facts: readonly Fact[]): Promise<void> {
    const left = await this.begin(facts);
    await left?.finished;
  }

  /** As the next on the topic. @returns what is left to be finished */
  begin(facts: readonly Fact[]): Promise<Left | undefined> {
    const { state } = this.service;
    const first = ends.get(state) ?? 0n;
    ends.set(state, first + BigInt(facts.length));
    return this.again(facts, first);
  }

  /** The records at these offsets, which may have been handled before. */
  async again(facts: readonly Fact[], first: bigint): Promise<Left | undefined> {
    try {
      return await this.#bookkeeper.handle(recordsOf(facts, first));
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
      // Another had the partition meanwhile, and it comes back here.
      return this.#bookkeeper.handle(recordsOf(facts, first));
    }
  }

  close(): Promise<void> {
    return this.#bookkeeper.close();
  }

  /** Where the next facts will lie. */
  get end(): bigint {
    return ends.get(this.service.state) ?? 0n;
  }
}
