/** Questions to Kafka: records at a place, where partitions begin and end, where groups stand. */
import type { Cluster } from "kafkajs";
import { limits } from "../config.js";
import {
  KafkaConnection,
  type KafkaSettings,
  coordinatorOf,
  kafkaErrorType,
} from "./log-kafka-connection.js";
import { type NamedTopic, earliestOf, fetchFrom, isOutOfRange } from "./log-kafka-fetch.js";
import { fetchCommitted } from "./log-kafka-group.js";
import { type LogRecord, LogUnreadable } from "./log.js";
import type { Logger } from "./logger.js";

/** Records are rarely larger; a single one comes whole in any case. */
const recordBytes = 4 * 1024;

/** One kept connection; made again when it fails, and the question asked again. */
export class KafkaReader {
  #connection: KafkaConnection | null = null;

  constructor(
    private readonly settings: KafkaSettings,
    private readonly logger: Logger,
  ) {}

  async read(
    named: NamedTopic,
    number: number,
    offset: bigint,
    recordsMax: number,
  ): Promise<LogRecord[]> {
    const records: LogRecord[] = [];
    let next = offset;
    while (records.length < recordsMax) {
      const bytesMax = Math.min(
        limits.kafkaFetchBytesMax,
        (recordsMax - records.length) * recordBytes,
      );
      const fetched = await this.#ask(named, (cluster) =>
        fetchOne(cluster, named, { number, offset: next }, bytesMax),
      );
      if (fetched.next === next) break;
      next = fetched.next;
      for (const one of fetched.records) records.push(one);
    }
    return records.slice(0, recordsMax);
  }

  ends(named: NamedTopic, partitions: number): Promise<bigint[]> {
    return this.#ask(named, (cluster) => offsets(cluster, named, partitions, false));
  }

  earliest(named: NamedTopic, partitions: number): Promise<bigint[]> {
    return this.#ask(named, (cluster) => offsets(cluster, named, partitions, true));
  }

  /** 0 for a partition of which the group has committed nothing. */
  committed(named: NamedTopic, groupId: string, partitions: number): Promise<bigint[]> {
    return this.#ask(named, async (cluster) => {
      const broker = await coordinatorOf(cluster, groupId);
      const numbers = numbersTo(partitions);
      const found = await fetchCommitted(broker, { groupId, topic: named.name }, numbers);
      return numbers.map((number) => found.get(number) ?? 0n);
    });
  }

  /** @throws when the group has members */
  async seek(
    named: NamedTopic,
    groupId: string,
    places: ReadonlyMap<number, bigint>,
  ): Promise<void> {
    const partitions = Array.from(places, ([partition, offset]) => ({
      partition,
      offset: offset.toString(),
    }));
    if (partitions.length === 0) return;
    const commit = {
      ...outsideAnyGeneration,
      groupId,
      topics: [{ topic: named.name, partitions }],
    };
    try {
      await this.#ask(named, async (cluster) => {
        const broker = await coordinatorOf(cluster, groupId);
        await broker.offsetCommit(commit);
      });
    } catch (error) {
      if (!hasMembers(error)) throw error;
      throw new Error(`the group ${groupId} is running: stop it before it is moved`, {
        cause: error,
      });
    }
  }

  close(): void {
    this.#connection?.abandon();
  }

  async #ask<T>(named: NamedTopic, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const until = performance.now() + limits.kafkaAnswerMsMax;
    for (;;) {
      this.#connection ??= new KafkaConnection(this.settings, this.logger);
      const connection = this.#connection;
      try {
        return await connection.within(until - performance.now(), async () =>
          work(await connection.ready(named.name)),
        );
      } catch (error) {
        if (hasMembers(error)) throw error;
        connection.abandon();
        if (this.#connection === connection) this.#connection = null;
        if (performance.now() + pauseMs > until) {
          throw new LogUnreadable("Kafka does not answer", { cause: error });
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

const pauseMs = 200;
const outsideAnyGeneration = { groupGenerationId: -1, memberId: "" };

function hasMembers(error: unknown): boolean {
  return kafkaErrorType(error) === "UNKNOWN_MEMBER_ID";
}

function numbersTo(partitions: number): number[] {
  return Array.from({ length: partitions }, (_, number) => number);
}

async function offsets(
  cluster: Cluster,
  { name }: NamedTopic,
  partitions: number,
  fromBeginning: boolean,
): Promise<bigint[]> {
  const numbers = numbersTo(partitions);
  const asked = numbers.map((partition) => ({ partition }));
  const [told] = await cluster.fetchTopicsOffset([
    { topic: name, partitions: asked, fromBeginning },
  ]);
  const found = new Map(told?.partitions.map(({ partition, offset }) => [partition, offset]));
  return numbers.map((number) => {
    const offset = found.get(number);
    if (offset === undefined) throw new Error(`Kafka tells nothing of ${name}, ${number}`);
    return BigInt(offset);
  });
}

async function fetchOne(
  cluster: Cluster,
  named: NamedTopic,
  place: { readonly number: number; readonly offset: bigint },
  bytesMax: number,
) {
  const nothing = { records: [], next: place.offset };
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(named.name, [place.number]));
  if (nodeId === undefined) return nothing;
  const broker = await cluster.findBroker({ nodeId });
  const fetch = async (offset: bigint) => {
    const places = [{ number: place.number, offset }];
    const found = await fetchFrom(broker, named, places, { maxWaitTime: 0, bytesMax });
    return found.get(place.number) ?? nothing;
  };
  try {
    return await fetch(place.offset);
  } catch (error) {
    if (!isOutOfRange(error, place.number)) throw error;
    const earliest = await earliestOf(cluster, named, place.number);
    return earliest > place.offset ? fetch(earliest) : nothing;
  }
}
