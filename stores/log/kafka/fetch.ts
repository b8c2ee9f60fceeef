/**
 * Reads partitions from their leaders, without a group. kafkajs reads only for groups, in one loop
 * for all partitions of a broker that waits for the slowest (docs/decisions/log-and-kafka.md).
 */
import type { Broker, Cluster } from "kafkajs";
import { limits } from "../../../config.js";
import type { Topic } from "../../../schemas/records/records.js";
import { KafkaConnection, type KafkaSettings, kafkaErrorType } from "./connection.js";
import { pauseAfter, reportFailure } from "./permissions.js";
import { type Arrivals, rest } from "../subscriptions.js";
import type { LogRecord } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";

export interface NamedTopic {
  readonly topic: Topic;
  readonly name: string;
}

export interface Fetched {
  readonly records: LogRecord[];
  /** Where to continue: Kafka's own marks have offsets, too. */
  next: bigint;
  /** Where the partition ends; null: the broker did not say, as over a quota. */
  end: bigint | null;
}

export interface Follower {
  readonly number: number;
  /** The offset to continue from; null while there is no room for more. */
  wanted(): bigint | null;
  /** @param asked what `wanted` returned: the records are ignored if it has changed since */
  take(asked: bigint, fetched: Fetched): void;
  /** Retention has removed what was wanted, or the log was cut short. */
  outOfRange(asked: bigint, earliest: bigint): void;
}

/** With nothing else to do it waits this long for records, then asks again. */
const waitMs = 500;
/** A follower without room may have some soon. */
const waitBesideFullMs = 5;
const pauseMsMax = 2_000;

export interface Following {
  readonly named: NamedTopic;
  readonly followers: readonly Follower[];
  /** Announced when a follower that wanted nothing may want more. */
  readonly room: Arrivals;
  /** Default: `limits.kafkaLingerMs`. */
  readonly lingerMs?: number | undefined;
}

/** Follows until stopped; reconnects after any failure. */
export async function followPartitions(
  settings: KafkaSettings,
  following: Following,
  logger: Logger,
  stop: AbortSignal,
): Promise<void> {
  const { named, followers } = following;
  let pauseMs = 100;
  while (!stop.aborted) {
    const connection = new KafkaConnection(settings, logger);
    const giveUp = (): void => connection.abandon();
    stop.addEventListener("abort", giveUp);
    try {
      const ready = () => connection.ready(named.name);
      const cluster = await connection.within(limits.kafkaAnswerMsMax, ready);
      pauseMs = 100;
      const leaders = byLeader(cluster, named.name, followers);
      await Promise.all(
        leaders.map(([nodeId, led]) =>
          followLeader(connection, nodeId, { ...following, followers: led }, stop),
        ),
      );
    } catch (error) {
      if (stop.aborted) break;
      const attempt = { right: "Read", topic: named.name } as const;
      reportFailure(logger, error, attempt, "reading from Kafka failed; connecting again");
      await rest(pauseAfter(error, pauseMs), stop);
      pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    } finally {
      stop.removeEventListener("abort", giveUp);
      connection.abandon();
    }
  }
}

function byLeader(
  cluster: Cluster,
  name: string,
  followers: readonly Follower[],
): [nodeId: string, led: Follower[]][] {
  const numbers = followers.map(({ number }) => number);
  const leaders = Object.entries(cluster.findLeaderForPartitions(name, numbers));
  return leaders.map(([nodeId, led]) => [
    nodeId,
    followers.filter(({ number }) => led.includes(number)),
  ]);
}

async function followLeader(
  connection: KafkaConnection,
  nodeId: string,
  { named, followers, room, lingerMs = limits.kafkaLingerMs }: Following,
  stop: AbortSignal,
): Promise<void> {
  const { cluster } = connection;
  // If another leader failed, its partitions have to be found again.
  while (!stop.aborted && !connection.isAbandoned) {
    const wanting = followers.flatMap((follower) => {
      const offset = follower.wanted();
      return offset === null ? [] : [{ follower, offset }];
    });
    if (wanting.length === 0) {
      await room.next(stop);
      continue;
    }
    const askedAt = performance.now();
    const maxWaitTime = wanting.length < followers.length ? waitBesideFullMs : waitMs;
    try {
      const broker = await connection.within(limits.kafkaAnswerMsMax, () =>
        cluster.findBroker({ nodeId }),
      );
      const places = wanting.map(({ follower: { number }, offset }) => ({ number, offset }));
      const found = await connection.within(limits.kafkaAnswerMsMax + maxWaitTime, () =>
        fetchFrom(broker, named, places, { maxWaitTime, bytesMax: limits.kafkaFetchBytesMax }),
      );
      for (const { follower, offset } of wanting) {
        const fetched = found.get(follower.number);
        if (fetched && fetched.next > offset) follower.take(offset, fetched);
      }
      // A request costs the same for one record as for many, here, at the broker and after it.
      await rest(askedAt + lingerMs - performance.now(), stop);
    } catch (error) {
      const strayed = wanting.find(({ follower }) => isOutOfRange(error, follower.number));
      if (strayed === undefined) {
        connection.abandon();
        throw error;
      }
      const { follower, offset } = strayed;
      const [earliest = 0n] = await connection.within(limits.kafkaAnswerMsMax, () =>
        boundsOf(cluster, named, [follower.number], "earliest"),
      );
      follower.outOfRange(offset, earliest);
    }
  }
}

export function isOutOfRange(error: unknown, partition: number): boolean {
  const isReported =
    error instanceof Error && "partition" in error && error.partition === partition;
  return isReported && kafkaErrorType(error) === "OFFSET_OUT_OF_RANGE";
}

interface FetchAnswer {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly partition: number;
      /** Records may be read up to here. */
      readonly lastStableOffset: string;
      readonly messages: readonly {
        readonly offset: string;
        readonly key: Buffer | null;
        readonly value: Buffer | null;
        /** Marks of transactions, which are no records. */
        readonly isControlRecord?: boolean;
      }[];
    }[];
  }[];
}

/** @returns the records from the offsets on, by partition */
export async function fetchFrom(
  broker: Broker,
  { topic, name }: NamedTopic,
  places: readonly { readonly number: number; readonly offset: bigint }[],
  { maxWaitTime, bytesMax }: { readonly maxWaitTime: number; readonly bytesMax: number },
): Promise<Map<number, Fetched>> {
  const answer: FetchAnswer = await broker.fetch({
    maxWaitTime,
    minBytes: 1,
    maxBytes: bytesMax * places.length,
    isolationLevel: readCommitted,
    topics: [
      {
        topic: name,
        partitions: places.map(({ number, offset }) => ({
          partition: number,
          fetchOffset: offset.toString(),
          maxBytes: bytesMax,
        })),
      },
    ],
  });
  const found = new Map(
    places.map(({ number, offset }): [number, Fetched] => [
      number,
      { records: [], next: offset, end: null },
    ]),
  );
  const reported = answer.responses.flatMap((one) => one.partitions);
  for (const { partition, lastStableOffset, messages } of reported) {
    const fetched = found.get(partition);
    if (fetched === undefined) continue;
    fetched.end = BigInt(lastStableOffset);
    for (const { offset: text, key, value, isControlRecord } of messages) {
      const offset = BigInt(text);
      // Kafka returns whole batches, so the first may begin earlier.
      if (offset < fetched.next) continue;
      fetched.next = offset + 1n;
      if (isControlRecord === true) continue;
      fetched.records.push({
        topic,
        partition,
        offset,
        key: key?.toString("utf8") ?? "",
        value: value ?? Buffer.alloc(0),
      });
    }
  }
  return found;
}

const readCommitted = 1;

export type Bound = "earliest" | "end";

/** @returns where the partitions begin or end, in the order of their numbers */
export async function boundsOf(
  cluster: Cluster,
  { name }: NamedTopic,
  numbers: readonly number[],
  bound: Bound,
): Promise<bigint[]> {
  const partitions = numbers.map((partition) => ({ partition }));
  const [reported] = await cluster.fetchTopicsOffset([
    { topic: name, partitions, fromBeginning: bound === "earliest" },
  ]);
  const found = new Map(reported?.partitions.map(({ partition, offset }) => [partition, offset]));
  return numbers.map((number) => {
    const offset = found.get(number);
    if (offset === undefined) throw new Error(`Kafka returned nothing about ${name}, ${number}`);
    return BigInt(offset);
  });
}
