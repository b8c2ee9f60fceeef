/**
 * Appending to one topic: all waiting records go into one request, then the next.
 *
 * An idempotent producer of kafkajs counts a partition's batches. When it gives one up, the next
 * gets the same number, and a broker that has stored the first after all takes the next for its
 * repetition and acknowledges what it never wrote. So a partition has one batch on its way, and
 * after one that was given up comes a new producer, with a new identity, whatever the error was.
 *
 * The callers of a request that takes too long are refused, and the old producer goes on with it:
 * its answer ends the doubt whether the records will become readable.
 */
import { setTimeout as pause } from "node:timers/promises";
import kafkajs, { type Message, type Producer } from "kafkajs";
import { limits } from "../../../config.js";
import { KafkaConnection, type KafkaSettings, isNotAllowed, mayPass } from "./connection.js";
import { reportFailure } from "./permissions.js";
import { Leaders, LeadersDiffer } from "./leaders.js";
import { AppendUncertain, LogUnavailable, type Position, kafkaLateMsMax } from "../log.js";
import { answered } from "../../../runtime/deadline.js";
import type { Logger } from "../../../runtime/logger.js";
import { LogThrottle } from "../../../runtime/log-throttle.js";

/** Records of one partition sent at once; the largest batch that the topics have to accept. */
export const kafkaBatchBytesMax = 1 * 1024 * 1024;

export interface PlacedRecord {
  readonly partition: number;
  readonly key: string;
  readonly value: Buffer;
}

interface Append {
  readonly records: readonly PlacedRecord[];
  readonly positions: Position[];
  /** Records that are on their way or durable. */
  taken: number;
  /** Some of its records were sent, and may be durable even if the rest fails. */
  isSent: boolean;
  readonly until: number;
  resolve(positions: Position[]): void;
  reject(error: LogUnavailable): void;
  isOver: boolean;
}

interface Batch {
  readonly appends: ReadonlySet<Append>;
  /** By partition, in the order of the appends. */
  readonly placed: ReadonlyMap<number, { append: Append; index: number; message: Message }[]>;
}

type Connection = Pick<KafkaConnection, "kafka" | "within" | "abandon" | "isAbandoned">;

interface OpenProducer {
  readonly connection: Connection;
  readonly producer: Producer;
  readonly leaders: Leaders;
}

function connectKafka(settings: KafkaSettings, logger: Logger): Connection {
  return new KafkaConnection(settings, logger);
}

/** Bytes that wait to be durable, of all topics of a process. */
export class Pending {
  #bytes = 0;

  constructor(private readonly bytesMax: number) {}

  /** @throws LogUnavailable when there is no room for them */
  add(bytes: number): void {
    if (this.#bytes + bytes > this.bytesMax) {
      throw new LogUnavailable("too many records wait to be written to the log");
    }
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export class KafkaAppender {
  #waiting: Append[] = [];
  #running: Promise<void> | null = null;
  #producer: OpenProducer | null = null;
  #isClosed = false;
  /** When the last request failed, by a clock that is never set; null: it did not. */
  #failedAt: number | null = null;
  /** Producers that go on with a request whose callers were refused. */
  readonly #late = new Set<Connection>();
  readonly #denials = new LogThrottle();
  readonly #msMax: number;

  constructor(
    private readonly settings: KafkaSettings,
    private readonly topic: string,
    private readonly pending: Pending,
    private readonly logger: Logger,
    private readonly connect: typeof connectKafka = connectKafka,
  ) {
    this.#msMax = settings.appendMsMax ?? limits.kafkaAppendMsMax;
  }

  /**
   * @throws LogUnavailable when the records may not be durable, soon after `kafkaAppendMsMax`;
   *   AppendUncertain when some were sent, which are durable or may still become so
   */
  async append(records: readonly PlacedRecord[]): Promise<Position[]> {
    if (this.#isClosed) throw new LogUnavailable("the log is closed");
    const bytes = records.reduce((sum, one) => sum + bytesOf(one), 0);
    this.pending.add(bytes);
    try {
      return await new Promise((resolve, reject) => {
        const until = performance.now() + this.#msMax;
        const fresh = { records, positions: [], taken: 0, isSent: false, until, isOver: false };
        this.#waiting.push({ resolve, reject, ...fresh });
        this.#running ??= this.#run();
      });
    } finally {
      this.pending.remove(bytes);
    }
  }

  /**
   * A while after a failure nobody is refused any more, because only new records show whether Kafka
   * accepts them again.
   * @throws LogUnavailable while the last request failed
   */
  check(): void {
    if (this.#failedAt === null || performance.now() - this.#failedAt > 2 * this.#msMax) return;
    throw new LogUnavailable(notTaken);
  }

  /** The next request asks again which partitions there are; nothing may be appended meanwhile. */
  async renew(): Promise<void> {
    await this.#running;
    this.#forgetProducer();
  }

  /** Ends when all that waits is written or refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    this.#forgetProducer();
    for (const connection of this.#late) connection.abandon();
  }

  async #run(): Promise<void> {
    // The calls of one turn of the event loop share the first request.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      this.#refuseLate();
      const batch = this.#take();
      if (batch.placed.size > 0) await this.#send(batch);
    }
    this.#running = null;
  }

  #refuseLate(): void {
    const now = performance.now();
    const late = this.#waiting.filter(({ until }) => until <= now);
    // Whatever of them was sent is acknowledged: it was not the last request.
    this.#refuse(late, new Error(`not begun within ${this.#msMax} ms`), Promise.resolve());
  }

  /**
   * At most so many bytes for each partition, which Kafka limits; an append may need several
   * requests.
   */
  #take(): Batch {
    const bytes = new Map<number, number>();
    const placed = new Map<number, { append: Append; index: number; message: Message }[]>();
    const appends = new Set<Append>();
    let isFull = false;
    while (!isFull && this.#waiting[0] !== undefined) {
      const append = this.#waiting[0];
      appends.add(append);
      for (; append.taken < append.records.length; append.taken += 1) {
        const record = append.records[append.taken];
        if (record === undefined) break;
        const { partition, key, value } = record;
        const sum = (bytes.get(partition) ?? 0) + bytesOf(record);
        isFull = sum > kafkaBatchBytesMax && bytes.has(partition);
        if (isFull) break;
        bytes.set(partition, sum);
        const message = { partition, key, value };
        const entry = { append, index: append.taken, message };
        const before = placed.get(partition);
        if (before) before.push(entry);
        else placed.set(partition, [entry]);
      }
      if (append.taken === append.records.length) this.#waiting.shift();
    }
    return { appends, placed };
  }

  async #send({ appends, placed }: Batch): Promise<void> {
    const leftMs = Math.min(...[...appends].map(({ until }) => until)) - performance.now();
    const until = performance.now() + Math.max(leftMs, leastMs);
    let sending: Promise<Map<number, string>> | null = null;
    try {
      const producer = await this.#openProducer(until);
      const messages = new Map(
        Array.from(placed, ([partition, entries]) => [
          partition,
          entries.map(({ message }) => message),
        ]),
      );
      for (const append of appends) append.isSent = true;
      sending = this.#sendAll(producer, messages);
      const first = await answered("Kafka", sending, until - performance.now());
      for (const [partition, entries] of placed) {
        const base = first.get(partition);
        if (base === undefined)
          throw new Error(`no offset was reported for partition ${partition}`);
        for (const [position, { append, index }] of entries.entries()) {
          append.positions[index] = { partition, offset: BigInt(base) + BigInt(position) };
        }
      }
    } catch (error) {
      this.#failedAt = performance.now();
      this.#reportFailure(error);
      // Whatever of them was sent before is acknowledged.
      const stored = sending === null ? Promise.resolve() : this.#goOn(sending);
      this.#forgetProducer();
      this.#refuse([...appends], error, stored);
      return;
    }
    this.#failedAt = null;
    for (const append of appends) {
      if (append.taken < append.records.length || append.isOver) continue;
      append.isOver = true;
      append.resolve(append.positions);
    }
  }

  /** @returns resolves when all was stored; rejects when that stays unknown */
  async #goOn(sending: Promise<unknown>): Promise<void> {
    const connection = this.#producer?.connection;
    if (connection === undefined || this.#late.size >= lateRequestsMax) {
      throw new Error("the request was given up");
    }
    this.#producer = null;
    this.#late.add(connection);
    try {
      await answered("Kafka", sending, kafkaLateMsMax);
    } finally {
      this.#late.delete(connection);
      connection.abandon();
    }
  }

  #reportFailure(error: unknown): void {
    // Senders repeat, so this is logged rarely.
    if (isNotAllowed(error) && this.#denials.turn("denied") === null) return;
    const attempt = { right: "Write", topic: this.topic } as const;
    reportFailure(this.logger, error, attempt, "Kafka did not take records");
  }

  /**
   * What failed is sent again until the connection is abandoned: to Kafka these are the same
   * batches, each stored once.
   * @returns the offset of the first record of each partition
   */
  async #sendAll(
    { connection, producer, leaders }: OpenProducer,
    messages: ReadonlyMap<number, readonly Message[]>,
  ): Promise<Map<number, string>> {
    const first = new Map<number, string>();
    for (;;) {
      const left = [...messages.keys()].filter((partition) => !first.has(partition));
      const sends = leaders.group(left).map(async (partitions) => {
        const reported = await producer.send({
          topic: this.topic,
          messages: leaders.onlyTogether(partitions.map((one) => messages.get(one) ?? [])),
          acks: allReplicas,
          compression: kafkajs.CompressionTypes.LZ4,
        });
        for (const { partition, baseOffset } of reported) {
          if (baseOffset !== undefined) first.set(partition, baseOffset);
        }
      });
      const errors = (await Promise.allSettled(sends)).flatMap((end) =>
        end.status === "rejected" ? [end.reason] : [],
      );
      if (errors.length === 0) return first;
      for (const error of errors) if (connection.isAbandoned || !mayPass(error)) throw error;
      if (errors.some((error) => !(error instanceof LeadersDiffer))) await pause(betweenTriesMs);
    }
  }

  #refuse(appends: readonly Append[], cause: unknown, stored: Promise<void>): void {
    // Callers of whom nothing was sent do not wait for it.
    stored.catch(() => undefined);
    for (const append of appends) {
      if (append.isOver) continue;
      append.isOver = true;
      append.reject(
        append.isSent
          ? new AppendUncertain(notTaken, { cause, stored })
          : new LogUnavailable(notTaken, { cause }),
      );
    }
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver);
  }

  /** Connecting may be tried again, because nothing has been sent yet. */
  async #openProducer(until: number): Promise<OpenProducer> {
    while (this.#producer === null) {
      const connection = this.connect(this.settings, this.logger);
      const leaders = new Leaders();
      const producer = connection.kafka.producer({
        idempotent: true,
        allowAutoTopicCreation: false,
        createPartitioner: () => (message) => leaders.partitionOf(message),
        retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 500 },
      });
      try {
        await connection.within(until - performance.now(), () => producer.connect());
        this.#producer = { connection, producer, leaders };
      } catch (error) {
        connection.abandon();
        if (isNotAllowed(error) || performance.now() + betweenTriesMs > until) throw error;
        await pause(betweenTriesMs);
      }
    }
    return this.#producer;
  }

  #forgetProducer(): void {
    this.#producer?.connection.abandon();
    this.#producer = null;
  }
}

const notTaken = "Kafka did not take the records";
const allReplicas = -1;
const betweenTriesMs = 200;
/** Each holds a request of records; further ones are given up. */
const lateRequestsMax = 4;
/** An append that waited long is still tried for this time. */
const leastMs = 1_000;
/** At most what Kafka adds to a record. */
const recordHeadBytes = 64;

function bytesOf({ key, value }: PlacedRecord): number {
  return Buffer.byteLength(key) + value.length + recordHeadBytes;
}
