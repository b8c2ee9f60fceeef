/**
 * The processors' own steps over a real log and the real stores, driven by hand: which process
 * takes which batch, how large it is, and what goes wrong in the middle, is the test's decision.
 */
import type { Log } from "../../stores/log/log.js";
import { Fenced } from "../../stores/state/state.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { Fault, type FaultPlan, Injected } from "./faults.js";
import { type Group, groupNames, type Handled, type Opened, Process } from "./process.js";

const topicOf: Readonly<Record<Group, Topic>> = {
  normalize: topics.raw,
  complete: topics.incomplete,
  book: topics.facts,
};

/** Where a fault strikes: in a group's handler, or in what is written behind it. */
export const faultPlaces = [...groupNames, "behind"] as const;

export interface Plan {
  /** More than one share the log; one is its sole writer. */
  readonly processes: 1 | 2 | 3;
  /** After so many batches a partition of a group goes to another process. */
  readonly stay: number;
  /** All partitions and groups at once, or one batch after the other. */
  readonly isParallel: boolean;
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

/** A group's way along one partition. */
class Lane {
  /** Not finished yet, oldest first. */
  readonly #unfinished: { readonly end: bigint; readonly finished: Promise<boolean> }[] = [];
  next: bigint;
  /** Who handled the last batch. */
  process: Process | null = null;
  batches = 0;
  /** What was left to be finished has failed: nothing more may be handled before it comes again. */
  hasFailed = false;

  constructor(
    readonly group: Group,
    readonly partition: number,
    public committed: bigint,
  ) {
    this.next = committed;
  }

  handled(end: bigint, finished: Promise<void>): void {
    this.next = end;
    const result = finished.then(
      () => true,
      (error: unknown) => {
        if (!isExpected(error)) throw error;
        this.hasFailed = true;
        return false;
      },
    );
    this.#unfinished.push({ end, finished: result });
  }

  /**
   * Moves the offset over what is finished; what failed comes again, with all that follows. So does
   * what waits for a process that stands still.
   */
  async settle(): Promise<{ readonly hasFailed: boolean }> {
    const unfinished = this.#unfinished.splice(0);
    const stands = (this.process?.standsStill ?? never).then(() => null);
    const all = Promise.all(unfinished.map(({ finished }) => finished));
    const results = await Promise.race([all, stands]);
    const failed = results === null ? 0 : results.indexOf(false);
    const last = unfinished[failed < 0 ? unfinished.length - 1 : failed - 1];
    if (last !== undefined) this.committed = last.end;
    if (failed >= 0) this.next = this.committed;
    this.hasFailed = false;
    return { hasFailed: results !== null && failed >= 0 };
  }

  get isOpen(): boolean {
    return this.#unfinished.length > 0;
  }

  goTo(offset: bigint): void {
    this.committed = offset;
    this.next = offset;
  }
}

const never = new Promise<never>(() => {});

/** A batch whose process stands still, or has woken and goes on with it. */
interface Stalled {
  readonly lane: Lane;
  readonly process: Process;
  /** Resolves when nothing of it is left to do. */
  readonly ended: Promise<unknown>;
}

export interface Stores {
  readonly log: Pick<Log, "ends" | "read">;
  /** As a process has them that has just started. */
  open(): Promise<Opened>;
}

export class Pipeline {
  readonly #waiting: FaultPlans;
  readonly #lanes: Lane[] = [];
  readonly #stalled = new Set<Stalled>();
  /** Processes that stand still and wake after the next batch. */
  readonly #wakesSoon = new Set<Process>();
  readonly #processes: Process[] = [];
  #turn = 0;

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
    for (const group of groupNames) {
      for (const [partition, end] of (await stores.log.ends(topicOf[group])).entries()) {
        pipeline.#lanes.push(new Lane(group, partition, end));
      }
    }
    for (let index = 0; index < plan.processes; index += 1) {
      pipeline.#processes.push(pipeline.#start(await stores.open()));
    }
    return pipeline;
  }

  /** Where every group stands; `replay` goes back there. */
  places(): readonly bigint[] {
    return this.#lanes.map(({ committed }) => committed);
  }

  /** As an operator replays: all processes are stopped meanwhile. */
  async replay(places: readonly bigint[], some: readonly Group[]): Promise<void> {
    for (const [index, lane] of this.#lanes.entries()) {
      if (some.includes(lane.group)) lane.goTo(places[index] ?? 0n);
    }
    for (const index of this.#processes.keys())
      this.#processes[index] = this.#start(await this.stores.open());
  }

  /** Until nothing waits in any group, and nobody stands still. */
  async drain(): Promise<void> {
    for (;;) {
      const waiting = await this.#lanesWaiting();
      const open = this.#lanes.filter((lane) => lane.isOpen && lane.process?.isStanding !== true);
      if (waiting.length > 0) {
        if (this.plan.isParallel) await Promise.all(waiting.map((lane) => this.#step(lane)));
        else for (const lane of waiting) await this.#step(lane);
      } else if (open.length > 0) await this.#settle(...open);
      else if (this.#processes.some(({ isStanding }) => isStanding)) await this.#wakeAll();
      else return;
      if (this.#processes.some(({ isDead }) => isDead)) await this.#bury();
    }
  }

  async #lanesWaiting(): Promise<Lane[]> {
    const ends = new Map<Group, readonly bigint[]>();
    for (const group of groupNames) ends.set(group, await this.stores.log.ends(topicOf[group]));
    return this.#lanes.filter((lane) => lane.next < (ends.get(lane.group)?.[lane.partition] ?? 0n));
  }

  async #step(lane: Lane): Promise<void> {
    if (lane.hasFailed) return this.#settle(lane);
    const turn = (this.#turn += 1);
    const size = this.plan.batches[turn % this.plan.batches.length] ?? 1;
    const { group, partition } = lane;
    const process = this.#processFor(lane);
    if (process === undefined) return this.#wakeAll();
    if (process !== lane.process) {
      // Who gives a partition up finishes what it began, unless it stands still.
      await this.#settle(lane);
      lane.process = process;
    }
    lane.batches += 1;
    const records = await this.stores.log.read(topicOf[group], partition, lane.next, size);
    const last = records.at(-1);
    if (last === undefined || process.isDead) return;
    const fault = this.#faultOf(group, process);
    const run = process.handle(group, records, fault).catch((error: unknown) => {
      if (isExpected(error)) return "injected" as const;
      throw error;
    });
    const outcome = await Promise.race([run, process.standsStill.then(() => "stands" as const)]);
    this.tally.batches += 1;
    if (outcome === "stands") {
      this.tally.stalls += 1;
      this.#stall(lane, process, run);
      if (fault.plan?.wakes === "soon") this.#wakesSoon.add(process);
    } else if (outcome !== "injected") {
      lane.handled(last.offset + 1n, outcome.finished);
      await this.#wakeSoon();
    } else if (!process.isDead) {
      this.tally.failures += 1;
      await this.#settle(lane);
    }
  }

  #stall(lane: Lane, process: Process, run: Promise<Handled | "injected">): void {
    const ended = run
      .then((outcome) => (outcome === "injected" ? undefined : outcome.finished))
      .catch(() => undefined)
      .finally(() => this.#stalled.delete(stalled));
    const stalled = { lane, process, ended };
    this.#stalled.add(stalled);
  }

  /** Each in turn, but none that stands still, or still has a batch of this partition in hand. */
  #processFor(lane: Lane): Process | undefined {
    const turn = Math.floor(lane.batches / this.plan.stay) + lane.partition;
    const inTurn = this.#processes.map(
      (_process, index) => this.#processes[(turn + index) % this.#processes.length],
    );
    const busy = [...this.#stalled].filter((stalled) => stalled.lane === lane);
    return inTurn.find(
      (process) =>
        process?.isStanding === false && !busy.some((stalled) => stalled.process === process),
    );
  }

  async #settle(...lanes: readonly Lane[]): Promise<void> {
    for (const lane of lanes) {
      const { hasFailed } = await lane.settle();
      if (hasFailed && this.#processes.every(({ isDead }) => !isDead)) this.tally.failures += 1;
    }
  }

  /** What died is replaced; what it had not finished is given again. */
  async #bury(): Promise<void> {
    for (const [index, process] of this.#processes.entries()) {
      if (!process.isDead) continue;
      this.tally.crashes += 1;
      await this.#woken(process);
      await process.buried();
      this.#processes[index] = this.#start(await this.stores.open());
    }
    await this.#settle(...this.#lanes);
    for (const lane of this.#lanes) lane.goTo(lane.committed);
  }

  #faultOf(place: (typeof faultPlaces)[number], process: Process): Fault {
    return new Fault(this.#planOf(place), process.struck);
  }

  #planOf(place: (typeof faultPlaces)[number]): FaultPlan | null {
    const plan = this.#waiting.get(place)?.shift() ?? null;
    // A process that is alone with its log has nobody who would take over.
    const isAlone = this.plan.processes === 1;
    return plan?.kind === "stall" && isAlone ? { ...plan, kind: "crash after" } : plan;
  }

  async #wakeSoon(): Promise<void> {
    const [process] = this.#wakesSoon;
    if (process !== undefined) await this.#woken(process);
  }

  async #wakeAll(): Promise<void> {
    for (const process of this.#processes) await this.#woken(process);
  }

  /** What it had in hand ends now; its own acknowledgement comes too late to count. */
  async #woken(process: Process): Promise<void> {
    this.#wakesSoon.delete(process);
    process.wake();
    const own = [...this.#stalled].filter((stalled) => stalled.process === process);
    const all = Promise.all(own.map(({ ended }) => ended));
    await Promise.race([all, process.standsStill]);
  }

  #start(opened: Opened): Process {
    return new Process(opened, (struck) => new Fault(this.#planOf("behind"), struck));
  }
}

/** A fault, or what follows from one for other batches. */
function isExpected(error: unknown): boolean {
  return error instanceof Injected || error instanceof Fenced;
}

type FaultPlans = ReadonlyMap<(typeof faultPlaces)[number], FaultPlan[]>;
