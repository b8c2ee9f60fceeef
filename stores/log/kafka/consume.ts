/** A group's work on Kafka: handles the partitions of each generation as on every log. */
import type { Topic } from "../../../schemas/records/records.js";
import type { KafkaSettings } from "./connection.js";
import { type Fetched, type Follower, type NamedTopic, followPartitions } from "./fetch.js";
import { type Generation, type GroupPlace, type Work, beMember } from "./group.js";
import { type GroupOffset, type Source, consumePartition, within } from "../partition-consumer.js";
import { Arrivals, follow } from "../subscriptions.js";
import type { ConsumeOptions, LogRecord, Subscription } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";

const kafkaBufferBytesMax = 2 * 1024 * 1024;

export class KafkaGroup implements Subscription {
  #places: ReadonlyMap<number, StoredOffset> = new Map();
  /**
   * Of a batch. One that takes longer than a rebalance waits is handled again, perhaps by a member
   * that is as slow. Halved each time, it ends somewhere.
   */
  #recordsMax: number;
  readonly #running: Subscription;

  /** @param committed the group's places, by partition */
  constructor(
    private readonly settings: KafkaSettings,
    private readonly named: NamedTopic,
    groupId: string,
    private readonly options: ConsumeOptions,
    private readonly committed: (partitions: number) => Promise<GroupPlace[]>,
    private readonly logger: Logger,
  ) {
    this.#recordsMax = options.batchRecordsMax;
    const name = { groupId, topic: named.name };
    const begin = (generation: Generation): Promise<Work> => this.#begin(generation);
    this.#running = follow((stop) => beMember(settings, name, begin, logger, stop));
  }

  close(): Promise<void> {
    return this.#running.close();
  }

  handled(): ReadonlyMap<number, bigint> {
    return new Map(
      Array.from(this.#places, ([partition, { handled }]) => [partition, BigInt(handled)]),
    );
  }

  async #begin(generation: Generation): Promise<Work> {
    const committed = await this.committed(Math.max(-1, ...generation.partitions) + 1);
    const room = new Arrivals();
    const places = new Map<number, StoredOffset>();
    const followers: Buffered[] = [];
    const works = generation.partitions.map((partition) => {
      const offset = Number(committed[partition]?.offset ?? 0n);
      const place = new StoredOffset(partition, offset, generation, () => this.#grow());
      places.set(partition, place);
      const arrivals = new Arrivals();
      const recordsMax = 2 * this.options.batchRecordsMax;
      const lost = (from: bigint, to: bigint): void => this.#reportLost(partition, from, to);
      const source = new Buffered(this.named, partition, place, recordsMax, arrivals, room, lost);
      followers.push(source);
      return consumePartition(source, place, arrivals, this.#optionsNow(), this.logger);
    });
    this.#places = places;
    const following = { named: this.named, followers, room, lingerMs: this.options.lingerMs };
    const fetching = follow((stop) =>
      followPartitions(this.settings, following, this.logger, stop),
    );
    return {
      stop: async () => {
        await Promise.all([...works, fetching].map((running) => running.close()));
        if (generation.lost.aborted) this.#recordsMax = Math.ceil(this.#recordsMax / 2);
        this.#places = new Map();
      },
    };
  }

  #grow(): void {
    this.#recordsMax = Math.min(this.#recordsMax * 2, this.options.batchRecordsMax);
  }

  /** A batch has as many records as are allowed when it begins. */
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
}

class StoredOffset implements GroupOffset {
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

  announce(): void {
    // Where it fails, whoever has the partition next handles these records and announces them.
    this.generation.announce(this.partition, this.#placeAt(this.#offset)).catch(() => undefined);
  }

  async move(offset: number): Promise<void> {
    await this.generation.commit(this.partition, this.#placeAt(offset));
    this.#offset = offset;
    this.moved();
  }

  #placeAt(offset: number): GroupPlace {
    return { offset: BigInt(offset), handled: BigInt(Math.max(offset, this.handled)) };
  }

  goBack(offset: number): void {
    this.#offset = offset;
  }

  /** Kafka gives a partition to one member, and this process begins no second work on it. */
  alone(work: () => Promise<void>): Promise<void> {
    return work();
  }
}

/** Records fetched ahead of the handler, up to what it may soon take. */
class Buffered implements Source, Follower {
  #records: LogRecord[] = [];
  #bytes = 0;
  #from: number;
  #next: bigint;

  constructor(
    private readonly named: NamedTopic,
    readonly number: number,
    private readonly place: StoredOffset,
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

  outOfRange(asked: bigint, earliest: bigint): void {
    if (asked !== this.#next) return;
    this.#next = earliest;
    // A new group begins with the oldest record, wherever that is.
    if (earliest > asked && asked > 0n) this.lost(asked, earliest);
    if (earliest > asked) return;
    // The log ends before the group's offset: Kafka lost records. Everything is delivered again,
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
