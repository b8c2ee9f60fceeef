/** A group's work on Kafka: what a generation's partitions hold, handled as on every log. */
import type { Cluster } from "kafkajs";
import type { Topic } from "../../schemas/records/records.js";
import type { KafkaSettings } from "./connection.js";
import {
  type Fetched,
  type Follower,
  type NamedTopic,
  earliestOf,
  followPartitions,
} from "./fetch.js";
import { type Generation, type Work, type Worker, beMember } from "./group.js";
import {
  Arrivals,
  type Place,
  type Source,
  consumePartition,
  follow,
  within,
} from "../partition-consumer.js";
import type { ConsumeOptions, LogRecord, Subscription } from "../log.js";
import type { Logger } from "../../runtime/logger.js";

const kafkaBufferBytesMax = 2 * 1024 * 1024;

export interface KafkaGroup extends Subscription {
  /** By partition, of those this member has. */
  handled(): ReadonlyMap<number, bigint>;
}

export function consumeGroup(
  settings: KafkaSettings,
  named: NamedTopic,
  groupId: string,
  options: ConsumeOptions,
  logger: Logger,
): KafkaGroup {
  const member = new GroupMember(settings, named, options, logger);
  const name = { groupId, topic: named.name };
  const running = follow((stop) => beMember(settings, name, member, logger, stop));
  return {
    handled: () => member.handled(),
    async close() {
      await running.close();
      await member.ended();
    },
  };
}

class GroupMember implements Worker {
  #places: ReadonlyMap<number, GroupPlace> = new Map();
  /** The last work on each partition in this process: the next one waits for it. */
  readonly #ending = new Map<number, Promise<void>>();
  /**
   * Of a batch. One that takes longer than a rebalance waits is handled again, by a member that may
   * be as slow: halved each time, it comes to an end wherever it is handled.
   */
  #recordsMax: number;

  constructor(
    private readonly settings: KafkaSettings,
    private readonly named: NamedTopic,
    private readonly options: ConsumeOptions,
    private readonly logger: Logger,
  ) {
    this.#recordsMax = options.batchRecordsMax;
  }

  handled(): ReadonlyMap<number, bigint> {
    return new Map(
      Array.from(this.#places, ([partition, { handled }]) => [partition, BigInt(handled)]),
    );
  }

  async ended(): Promise<void> {
    await Promise.all(this.#ending.values());
  }

  async begin(generation: Generation): Promise<Work> {
    const committed = await generation.committed();
    const room = new Arrivals();
    const places = new Map<number, GroupPlace>();
    const works = generation.partitions.map((partition) => {
      const offset = committed.get(partition) ?? 0n;
      const place = new GroupPlace(partition, Number(offset), generation, () => this.#grow());
      places.set(partition, place);
      const arrivals = new Arrivals();
      const recordsMax = 2 * this.options.batchRecordsMax;
      const lost = (from: bigint, to: bigint): void => this.#reportLost(partition, from, to);
      const source = new Buffered(this.named, partition, place, recordsMax, arrivals, room, lost);
      return { source, work: this.#work(partition, source, place, arrivals) };
    });
    this.#places = places;
    const { named } = this;
    const { lingerMs } = this.options;
    const sources = works.map(({ source }) => source);
    const fetching = follow((stop) =>
      followPartitions(
        this.settings,
        { named, followers: sources, room, lingerMs },
        this.logger,
        stop,
      ),
    );
    return {
      stop: async () => {
        const ended = Promise.all(works.map(({ work }) => work.close()));
        await Promise.race([ended, aborted(generation.lost)]);
        if (generation.lost.aborted) this.#recordsMax = Math.ceil(this.#recordsMax / 2);
        if (this.#places === places) this.#places = new Map();
        await fetching.close();
      },
    };
  }

  #grow(): void {
    this.#recordsMax = Math.min(this.#recordsMax * 2, this.options.batchRecordsMax);
  }

  /** As many records in a batch as there may be when it begins. */
  #optionsNow(): ConsumeOptions {
    const now = (): number => this.#recordsMax;
    return {
      ...this.options,
      get batchRecordsMax() {
        return now();
      },
    };
  }

  #reportLost(partition: number, from: bigint, to: bigint): void {
    const where = { topic: this.named.name, group: this.options.group, partition };
    this.logger.error(
      { ...where, from: from.toString(), to: to.toString() },
      "Kafka removed records before they were handled: give the topic a longer retention and " +
        "send the raw events of that time again (npm run ops -- replay --from)",
    );
  }

  #work(partition: number, source: Source, place: Place, arrivals: Arrivals): Subscription {
    const before = this.#ending.get(partition) ?? Promise.resolve();
    // A handler that took longer than a rebalance may still run.
    const work = follow(async (stop) => {
      await before;
      if (stop.aborted) return;
      const running = consumePartition(source, place, arrivals, this.#optionsNow(), this.logger);
      await aborted(stop);
      await running.close();
    });
    return {
      close: () => {
        const ended = work.close();
        this.#ending.set(partition, ended);
        return ended;
      },
    };
  }
}

/** Resolves when the signal is aborted. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

class GroupPlace implements Place {
  handled: number;
  #offset: number;

  constructor(
    private readonly partition: number,
    offset: number,
    private readonly generation: Generation,
    private readonly moved: () => void,
  ) {
    this.#offset = offset;
    this.handled = offset;
  }

  offset(): number {
    return this.#offset;
  }

  async move(offset: number): Promise<void> {
    await this.generation.commit(this.partition, BigInt(offset));
    this.#offset = offset;
    this.moved();
  }

  goBack(offset: number): void {
    this.#offset = offset;
  }

  /** Kafka gives a partition to one member, and this process begins no second work on it. */
  alone(work: () => Promise<void>): Promise<void> {
    return work();
  }
}

/** Records fetched ahead of the handler, as many as it may soon take. */
class Buffered implements Source, Follower {
  #records: LogRecord[] = [];
  #bytes = 0;
  /** What is in `#records` lies from here on. */
  #from: number;
  /** Where fetching goes on. */
  #next: bigint;

  constructor(
    private readonly named: NamedTopic,
    readonly number: number,
    private readonly place: GroupPlace,
    private readonly recordsMax: number,
    private readonly arrivals: Arrivals,
    private readonly room: Arrivals,
    private readonly lost: (from: bigint, to: bigint) => void,
  ) {
    this.#from = place.offset();
    this.#next = BigInt(this.#from);
  }

  get topic(): Topic {
    return this.named.topic;
  }

  get end(): number {
    const last = this.#records.at(-1);
    return last === undefined ? this.#from : Number(last.offset) + 1;
  }

  read(offset: number, recordsMax: number, bytesMax: number): LogRecord[] {
    if (offset < this.#from) {
      // The group went back to what it has committed.
      this.#restart(offset);
      return [];
    }
    const passed = this.#records.findIndex((one) => Number(one.offset) >= offset);
    const dropped = this.#records.splice(0, passed === -1 ? this.#records.length : passed);
    for (const one of dropped) this.#bytes -= one.value.length;
    this.#from = offset;
    this.room.announce();
    return within(this.#records.slice(0, recordsMax), bytesMax);
  }

  wanted(): bigint | null {
    const isFull = this.#records.length >= this.recordsMax || this.#bytes >= kafkaBufferBytesMax;
    return isFull ? null : this.#next;
  }

  take(asked: bigint, { records, next }: Fetched): void {
    if (asked !== this.#next) return;
    for (const one of records) {
      this.#records.push(one);
      this.#bytes += one.value.length;
    }
    this.#next = next;
    this.arrivals.announce();
  }

  async outOfRange(asked: bigint, cluster: Cluster): Promise<void> {
    const earliest = await earliestOf(cluster, this.named, this.number);
    if (asked !== this.#next) return;
    this.#next = earliest;
    // A group that is new begins with the oldest, wherever that is.
    if (earliest > asked && asked > 0n) this.lost(asked, earliest);
    if (earliest > asked) return;
    // The log ends before what the group has handled: Kafka lost records. All is given again,
    // which counts nothing twice, rather than miss what came since.
    this.place.goBack(Number(earliest));
    this.#restart(Number(earliest));
  }

  #restart(offset: number): void {
    this.#records = [];
    this.#bytes = 0;
    this.#from = offset;
    this.#next = BigInt(offset);
    this.room.announce();
  }
}
