/**
 * The processors' own steps, consumed as on every log: which process has which partition, how large
 * batches are, and what goes wrong in the middle, is the test's decision.
 */
import { createLogger } from "../../runtime/logger.js";
import { Arrivals } from "../../stores/log/subscriptions.js";
import type { Log, LogRecord, Subscription } from "../../stores/log/log.js";
import {
  consumePartition,
  type GroupOffset,
  PartitionLost,
  type Source,
  within,
} from "../../stores/log/partition-consumer.js";
import { isStoreAway } from "../../stores/store-away.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { latch } from "../harness/promises.js";
import { Fault, type FaultPlan } from "./faults.js";
import { type Group, groupNames, type Handled, type Opened, Process } from "./process.js";

const topicOf: Readonly<Record<Group, Topic>> = {
  normalize: topics.raw,
  complete: topics.incomplete,
  book: topics.facts,
};
const recordsPerRead = 1_000;
/** That batches fail is the plan. */
const logger = createLogger("silent");

/** Where a fault strikes: in a group's handler, or in what is written behind it. */
export const faultPlaces = [...groupNames, "behind"] as const;

export interface Plan {
  /** More than one share the log; one is its sole writer. */
  readonly processes: 1 | 2 | 3;
  /** After so many batches a partition of a group goes to another process. */
  readonly stay: number;
  /** So often it loses the partition with batches in hand; otherwise it ends them first. */
  readonly losses: number;
  /** Sizes, again and again. */
  readonly batches: readonly number[];
  readonly faults: readonly (FaultPlan & { readonly place: (typeof faultPlaces)[number] })[];
}

/** What happened, for the one who runs it long. */
export interface Tally {
  batches: number;
  crashes: number;
  failures: number;
  stalls: number;
}

type Handle = (lane: Lane, process: Process, records: readonly LogRecord[]) => Promise<Handled>;

/** A group's way along one partition. */
class Lane {
  committed: bigint;
  /** Who has it; null: nobody just now. */
  process: Process | null = null;
  batches = 0;
  #batchesOfOwner = 0;
  /** Processes that had it and have not ended their work on it. */
  readonly #leaving = new Set<Process>();
  readonly #arrivals = new Arrivals();
  /** From `#first` on. */
  #records: LogRecord[] = [];
  #first: bigint;
  #consumer: Subscription | null = null;
  #isGivenUp = false;

  constructor(
    readonly group: Group,
    readonly partition: number,
    readonly began: bigint,
    private readonly news: () => void,
  ) {
    this.committed = began;
    this.#first = began;
  }

  get #end(): bigint {
    return this.#first + BigInt(this.#records.length);
  }

  async fill(log: Pick<Log, "read">, end: bigint): Promise<void> {
    while (this.#end < end) {
      const topic = topicOf[this.group];
      this.#records.push(...(await log.read(topic, this.partition, this.#end, recordsPerRead)));
      this.#arrivals.announce();
    }
  }

  canGoTo(process: Process): boolean {
    return !process.isDead && !process.isStanding && !this.#leaving.has(process);
  }

  /** @param sizeOf of a batch, by its number */
  start(process: Process, sizeOf: (batch: number) => number, handle: Handle): void {
    this.process = process;
    this.#batchesOfOwner = 0;
    this.#isGivenUp = false;
    const { group, partition } = this;
    const topic = topicOf[group];
    const endOf = (): number => Number(this.#end);
    const source: Source = {
      topic,
      number: partition,
      get end() {
        return endOf();
      },
      read: (offset, recordsMax, bytesMax) => {
        const from = offset - Number(this.#first);
        return within(this.#records.slice(from, from + recordsMax), bytesMax);
      },
    };
    const place: GroupOffset = {
      handled: Number(this.committed),
      offset: () => Number(this.committed),
      move: async (offset) => {
        if (this.process !== process) throw new PartitionLost("another process has it");
        this.committed = BigInt(offset);
        this.news();
      },
      alone: (work) => work(),
    };
    const sizeNow = (): number => sizeOf(this.batches);
    const options = {
      topic,
      group,
      get batchRecordsMax() {
        return sizeNow();
      },
      handle: async (records: readonly LogRecord[]) => {
        this.batches += 1;
        this.#batchesOfOwner += 1;
        return handle(this, process, records);
      },
    };
    this.#consumer = consumePartition(source, place, this.#arrivals, options, logger);
  }

  hadItFor(batches: number): boolean {
    return this.process !== null && this.#batchesOfOwner >= batches;
  }

  /** The process ends what it began, and then another may have it. */
  giveUp(): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    const { process } = this;
    void this.#close(() => {
      if (this.process === process) this.process = null;
    });
  }

  /** Another may have it at once, whatever the process has in hand. */
  takeAway(): void {
    const { process } = this;
    if (process === null) return;
    this.process = null;
    this.#leaving.add(process);
    void this.#close(() => this.#leaving.delete(process));
  }

  async #close(ended: () => void): Promise<void> {
    await this.#consumer?.close();
    ended();
    this.news();
  }

  async stop(): Promise<void> {
    await this.#consumer?.close();
    this.process = null;
  }

  get isLeft(): boolean {
    return this.#leaving.size === 0;
  }

  goTo(offset: bigint): void {
    this.committed = offset;
    this.#records = [];
    this.#first = offset;
  }
}

export interface Stores {
  readonly log: Pick<Log, "ends" | "read">;
  /** As a process has them that has just started. */
  open(): Promise<Opened>;
}

export class Pipeline {
  readonly #waiting: FaultPlans;
  readonly #lanes: Lane[] = [];
  /** Processes that stand still and wake after the next batch. */
  readonly #wakesSoon = new Set<Process>();
  readonly #processes: Process[] = [];
  #losses = 0;
  #failure: unknown = null;
  #announce: () => void = () => {};

  private constructor(
    private readonly stores: Stores,
    private readonly plan: Plan,
    private readonly tally: Tally,
  ) {
    this.#waiting = new Map(
      faultPlaces.map((place) => [place, plan.faults.filter((fault) => fault.place === place)]),
    );
  }

  /** What is on the log already belongs to others. */
  static async open(stores: Stores, plan: Plan, tally: Tally): Promise<Pipeline> {
    const pipeline = new Pipeline(stores, plan, tally);
    const news = (): void => pipeline.#announce();
    for (const group of groupNames) {
      for (const [partition, end] of (await stores.log.ends(topicOf[group])).entries()) {
        pipeline.#lanes.push(new Lane(group, partition, end, news));
      }
    }
    for (let index = 0; index < plan.processes; index += 1) {
      pipeline.#processes.push(pipeline.#start(await stores.open()));
    }
    return pipeline;
  }

  /** As an operator replays, from the beginning: all processes are stopped meanwhile. */
  async replay(topic: "raw" | "facts"): Promise<void> {
    const group = topic === "raw" ? "normalize" : "book";
    for (const lane of this.#lanes) if (lane.group === group) lane.goTo(lane.began);
    for (const [index, process] of this.#processes.entries()) {
      await process.ended();
      this.#processes[index] = this.#start(await this.stores.open());
    }
    await this.drain();
  }

  /** Until nothing waits in any group, and nobody stands still. */
  async drain(): Promise<void> {
    for (;;) {
      const [isNews, announce] = latch();
      this.#announce = announce;
      const committed = this.#lanes.map((lane) => lane.committed);
      const ends = new Map<Group, readonly bigint[]>();
      for (const group of groupNames) ends.set(group, await this.stores.log.ends(topicOf[group]));
      const endOf = ({ group, partition }: Lane): bigint => ends.get(group)?.[partition] ?? 0n;
      for (const lane of this.#lanes) await lane.fill(this.stores.log, endOf(lane));
      if (this.#failure !== null) {
        this.#abandon();
        throw this.#failure;
      }
      await this.#bury();
      const waiting = this.#lanes.filter((lane, index) => (committed[index] ?? 0n) < endOf(lane));
      this.#assign(waiting);
      const standing = this.#processes.filter(({ isStanding }) => isStanding);
      const isHeldUp = waiting.every(({ process }) => process === null);
      if (isHeldUp) for (const process of standing) this.#wake(process);
      const isOver = waiting.length === 0 && standing.length === 0;
      if (isOver && this.#lanes.every(({ isLeft }) => isLeft)) break;
      await isNews;
    }
    await Promise.all(this.#lanes.map((lane) => lane.stop()));
  }

  /** Nothing of it goes on behind the next case. */
  #abandon(): void {
    for (const process of this.#processes) process.die();
    for (const lane of this.#lanes) lane.takeAway();
  }

  #assign(waiting: readonly Lane[]): void {
    for (const lane of this.#lanes) {
      if (lane.process?.isDead === true || lane.process?.isStanding === true) lane.takeAway();
      else if (this.plan.processes > 1 && lane.hadItFor(this.plan.stay)) this.#move(lane);
    }
    const sizeOf = (batch: number): number =>
      this.plan.batches[batch % this.plan.batches.length] ?? 1;
    for (const lane of waiting) {
      if (lane.process !== null) continue;
      const process = this.#processFor(lane);
      if (process !== undefined) lane.start(process, sizeOf, this.#handle);
    }
  }

  #move(lane: Lane): void {
    this.#losses += 1;
    if (this.#losses > this.plan.losses) lane.giveUp();
    else lane.takeAway();
  }

  /** Each in turn, but none that stands still, or still has a batch of this partition in hand. */
  #processFor(lane: Lane): Process | undefined {
    const turn = Math.floor(lane.batches / this.plan.stay) + lane.partition;
    const inTurn = this.#processes.map(
      (_process, index) => this.#processes[(turn + index) % this.#processes.length],
    );
    return inTurn.find((process) => process !== undefined && lane.canGoTo(process));
  }

  readonly #handle: Handle = async ({ group }, process, records) => {
    const fault = this.#faultOf(group, process);
    this.tally.batches += 1;
    try {
      const handled = await process.handle(group, records, fault);
      handled.finished.catch((error: unknown) => this.#failed(process, error));
      for (const woken of this.#wakesSoon) this.#wake(woken);
      return handled;
    } catch (error) {
      this.#failed(process, error);
      throw error;
    } finally {
      this.#announce();
    }
  };

  /** What no fault explains fails the proof. */
  #failed(process: Process, error: unknown): void {
    if (process.isDead) return;
    this.tally.failures += 1;
    if (isStoreAway(error)) return;
    this.#failure = error;
    this.#announce();
  }

  /** What died is replaced; what it had not finished is given again. */
  async #bury(): Promise<void> {
    for (const [index, process] of this.#processes.entries()) {
      if (!process.isDead) continue;
      this.tally.crashes += 1;
      for (const lane of this.#lanes) if (lane.process === process) lane.takeAway();
      await process.ended();
      this.#processes[index] = this.#start(await this.stores.open());
    }
  }

  #faultOf(place: (typeof faultPlaces)[number], process: Process): Fault {
    const plan = this.#waiting.get(place)?.shift() ?? null;
    // A process that is alone with its log has nobody who would take over.
    const isAlone = this.plan.processes === 1;
    const given =
      plan?.kind === "stall" && isAlone ? ({ ...plan, kind: "crash after" } as const) : plan;
    return new Fault(given, {
      die: () => {
        process.die();
        this.#announce();
      },
      standStill: () => {
        this.tally.stalls += 1;
        if (given?.wakes === "soon") this.#wakesSoon.add(process);
        this.#announce();
        return process.standStill();
      },
    });
  }

  /** What it had in hand ends now; its own acknowledgement comes too late to count. */
  #wake(process: Process): void {
    this.#wakesSoon.delete(process);
    process.wake();
    this.#announce();
  }

  #start(opened: Opened): Process {
    const process: Process = new Process(opened, () => this.#faultOf("behind", process));
    return process;
  }
}

type FaultPlans = ReadonlyMap<(typeof faultPlaces)[number], FaultPlan[]>;
