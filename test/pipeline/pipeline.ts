/**
 * The processors' own steps over a real log and the real stores, driven by hand: which process
 * takes which batch, how large it is, and what goes wrong in the middle, is the test's decision.
 */
import type { LmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import type { Log } from "../../stores/log/log.js";
import { Fenced, type State } from "../../stores/state/state.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { Fault, type FaultPlan, Injected } from "./faults.js";
import { type Group, groupNames, type PipelineService, Process } from "./process.js";

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

  /** Moves the offset over what is finished; what failed comes again, with all that follows. */
  async settle(): Promise<{ readonly hasFailed: boolean }> {
    const results = await Promise.all(this.#unfinished.map(({ finished }) => finished));
    const failed = results.indexOf(false);
    const last = this.#unfinished[failed < 0 ? results.length - 1 : failed - 1];
    this.#unfinished.length = 0;
    if (last !== undefined) this.committed = last.end;
    if (failed >= 0) this.next = this.committed;
    this.hasFailed = false;
    return { hasFailed: failed >= 0 };
  }

  get isOpen(): boolean {
    return this.#unfinished.length > 0;
  }

  goTo(offset: bigint): void {
    this.committed = offset;
    this.next = offset;
  }
}

interface Stalled {
  readonly lane: Lane;
  readonly process: Process;
  readonly fault: Fault;
  readonly run: Promise<unknown>;
}

export class Pipeline {
  readonly #waiting: FaultPlans;
  readonly #lanes: Lane[] = [];
  readonly #stalled: Stalled[] = [];
  readonly #processes: Process[] = [];
  #turn = 0;

  private constructor(
    private readonly service: PipelineService,
    private readonly log: Log,
    private readonly state: State,
    private readonly plan: Plan,
    private readonly tally: Tally,
  ) {
    this.#waiting = new Map(
      faultPlaces.map((place) => [place, plan.faults.filter((fault) => fault.place === place)]),
    );
  }

  /** What is on the log already belongs to others. */
  static async open(
    service: PipelineService,
    log: LmdbLog,
    plan: Plan,
    tally: Tally,
  ): Promise<Pipeline> {
    const shared = { ...log, shared: plan.processes > 1 };
    const pipeline = new Pipeline(service, shared, log.state, plan, tally);
    for (const group of groupNames) {
      for (const [partition, end] of (await log.ends(topicOf[group])).entries()) {
        pipeline.#lanes.push(new Lane(group, partition, end));
      }
    }
    for (let index = 0; index < plan.processes; index += 1) {
      pipeline.#processes.push(await pipeline.#start());
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
    for (const index of this.#processes.keys()) this.#processes[index] = await this.#start();
  }

  /** Until nothing waits in any group, and nobody stands still. */
  async drain(): Promise<void> {
    for (;;) {
      const waiting = await this.#lanesWaiting();
      const open = this.#lanes.filter((lane) => lane.isOpen);
      if (waiting.length > 0) {
        if (this.plan.isParallel) await Promise.all(waiting.map((lane) => this.#step(lane)));
        else for (const lane of waiting) await this.#step(lane);
      } else if (open.length > 0) await this.#settle(...open);
      else if (this.#stalled.length > 0) await this.#wake(() => true);
      else return;
      if (this.#processes.some(({ isDead }) => isDead)) await this.#bury();
    }
  }

  async #lanesWaiting(): Promise<Lane[]> {
    const ends = new Map<Group, readonly bigint[]>();
    for (const group of groupNames) ends.set(group, await this.log.ends(topicOf[group]));
    return this.#lanes.filter((lane) => lane.next < (ends.get(lane.group)?.[lane.partition] ?? 0n));
  }

  async #step(lane: Lane): Promise<void> {
    if (lane.hasFailed) return this.#settle(lane);
    const turn = (this.#turn += 1);
    const size = this.plan.batches[turn % this.plan.batches.length] ?? 1;
    const { group, partition } = lane;
    const records = await this.log.read(topicOf[group], partition, lane.next, size);
    const last = records.at(-1);
    const process = this.#processFor(lane, turn);
    if (process === undefined) return this.#wake((stalled) => stalled.lane === lane);
    if (last === undefined || process.isDead) return;
    const fault = new Fault(this.#faultFor(group), () => process.die());
    const run = process.handle(group, records, fault).catch((error: unknown) => {
      if (isExpected(error)) return "injected" as const;
      throw error;
    });
    const outcome = await Promise.race([run, fault.held.then(() => "held" as const)]);
    this.tally.batches += 1;
    if (outcome === "held") {
      this.tally.stalls += 1;
      this.#stalled.push({ lane, process, fault, run });
    } else if (outcome !== "injected") {
      lane.handled(last.offset + 1n, outcome.finished);
      await this.#wakeSoon();
    } else if (!process.isDead) {
      this.tally.failures += 1;
      await lane.settle();
    }
  }

  /** Each in turn, but not one that stands still in this lane: another takes that over. */
  #processFor(lane: Lane, turn: number): Process | undefined {
    const inTurn = this.#processes.map(
      (_process, index) => this.#processes[(turn + index) % this.#processes.length],
    );
    const stands = (process: Process | undefined): boolean =>
      this.#stalled.some((stalled) => stalled.lane === lane && stalled.process === process);
    return inTurn.find((process) => !stands(process));
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
      // A stalled consumer dies with its process, and wakes for nothing else.
      await this.#wake(({ process: its }) => its === process);
      await process.buried();
      this.#processes[index] = await this.#start();
    }
    for (const lane of this.#lanes) {
      await lane.settle();
      lane.goTo(lane.committed);
    }
  }

  #faultFor(place: (typeof faultPlaces)[number]): FaultPlan | null {
    const plan = this.#waiting.get(place)?.shift() ?? null;
    const isAlone = this.plan.processes === 1 || place === "behind";
    // A process that is alone with its log has nobody who would take over.
    return plan?.kind === "stall" && isAlone ? { ...plan, kind: "crash after" } : plan;
  }

  /** A stalled member's own acknowledgement comes too late to count. */
  async #wakeSoon(): Promise<void> {
    const soon = this.#stalled.findIndex(({ fault }) => fault.plan?.wakes === "soon");
    const [stalled] = soon < 0 ? [] : this.#stalled.splice(soon, 1);
    stalled?.fault.wake();
    await stalled?.run;
  }

  async #wake(isMeant: (stalled: Stalled) => boolean): Promise<void> {
    const woken = this.#stalled.filter(isMeant);
    const others = this.#stalled.filter((stalled) => !isMeant(stalled));
    this.#stalled.splice(0, this.#stalled.length, ...others);
    for (const { fault } of woken) fault.wake();
    await Promise.all(woken.map(({ run }) => run));
  }

  async #start(): Promise<Process> {
    let started: Process | null = null;
    const behind = () =>
      new Fault(this.#faultFor("behind"), () => {
        started?.die();
      });
    started = await Process.start(this.service, this.log, this.state, behind);
    return started;
  }
}

/** A fault, or what follows from one for other batches. */
function isExpected(error: unknown): boolean {
  return error instanceof Injected || error instanceof Fenced;
}

type FaultPlans = ReadonlyMap<(typeof faultPlaces)[number], FaultPlan[]>;
