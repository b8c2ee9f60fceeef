/** Questions to Kafka: records at a place, where partitions begin and end, where groups stand. */
import { setTimeout as pause } from "node:timers/promises";
import type { Cluster, PartitionOffset } from "kafkajs";
import { limits } from "../../../config.js";
import {
  type GroupBroker,
  KafkaConnection,
  type KafkaSettings,
  coordinatorOf,
  kafkaErrorType,
} from "./connection.js";
import { denialOf } from "./permissions.js";
import { type Bound, type NamedTopic, boundsOf, fetchFrom, isOutOfRange } from "./fetch.js";
import type { GroupPlace } from "./group.js";
import { type LogRecord, LogUnreadable } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";

/** Records are rarely larger; a single one comes whole in any case. */
const recordBytes = 4 * 1024;

/** One kept connection; remade when it fails, and the question repeated. */
export class KafkaReader {
  #connection: KafkaConnection | null = null;
  /**
   * Of each group. A broker that no longer is the coordinator refuses, and the connection is
   * remade.
   */
  readonly #coordinators = new WeakMap<Cluster, Map<string, GroupBroker>>();

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
      const asked = this.#ask(named, (cluster, connection) =>
        fetchOne(connection, cluster, named, { number, offset: next }, bytesMax),
      );
      // Returns what there is; the caller asks again for the rest.
      const fetched = records.length === 0 ? await asked : await asked.catch(unreadable);
      if (fetched === null) break;
      next = fetched.next;
      for (const one of fetched.records) records.push(one);
      if (next >= fetched.end) break;
    }
    return records.slice(0, recordsMax);
  }

  bounds(named: NamedTopic, partitions: number, bound: Bound): Promise<bigint[]> {
    return this.#ask(named, (cluster) => boundsOf(cluster, named, numbersTo(partitions), bound));
  }

  /** 0 for a partition of which the group has committed nothing. */
  places(named: NamedTopic, groupId: string, partitions: number): Promise<GroupPlace[]> {
    return this.#ask({ ...named, groupId }, async (cluster) => {
      const broker = await this.#coordinatorOf(cluster, groupId);
      const asked = numbersTo(partitions).map((partition) => ({ partition, offset: "-1" }));
      const topics = [{ topic: named.name, partitions: asked }];
      const { responses } = await broker.offsetFetch({ groupId, topics });
      const reported = responses.flatMap((response) => response.partitions);
      const found = new Map(reported.map((one) => [one.partition, one]));
      return asked.map(({ partition }) => placeOf(found.get(partition)));
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
      await this.#ask({ ...named, groupId }, async (cluster) => {
        const broker = await this.#coordinatorOf(cluster, groupId);
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

  async #coordinatorOf(cluster: Cluster, groupId: string): Promise<GroupBroker> {
    const ofGroups = this.#coordinators.get(cluster) ?? new Map<string, GroupBroker>();
    this.#coordinators.set(cluster, ofGroups);
    const known = ofGroups.get(groupId);
    if (known?.isConnected()) return known;
    const found = await coordinatorOf(cluster, groupId);
    ofGroups.set(groupId, found);
    return found;
  }

  async #ask<T>(
    { name: topic, groupId }: NamedTopic & { readonly groupId?: string },
    work: (cluster: Cluster, connection: KafkaConnection) => Promise<T>,
  ): Promise<T> {
    const until = performance.now() + limits.kafkaAnswerMsMax;
    for (;;) {
      this.#connection ??= new KafkaConnection(this.settings, this.logger);
      const connection = this.#connection;
      try {
        return await connection.within(until - performance.now(), async () =>
          work(await connection.ready(topic), connection),
        );
      } catch (error) {
        if (hasMembers(error)) throw error;
        connection.abandon();
        if (this.#connection === connection) this.#connection = null;
        const denial = denialOf(error, { right: "Read", topic, ...(groupId && { groupId }) });
        if (denial !== null || performance.now() + pauseMs > until) {
          throw new LogUnreadable(denial ?? "Kafka does not answer", { cause: error });
        }
        await pause(pauseMs);
      }
    }
  }
}

const pauseMs = 200;
/** The pause before a broker that had nothing is asked again. */
const heldBackMs = 50;
const outsideAnyGeneration = { groupGenerationId: -1, memberId: "" };

function hasMembers(error: unknown): boolean {
  return kafkaErrorType(error) === "UNKNOWN_MEMBER_ID";
}

/** @throws any other error */
function unreadable(error: unknown): null {
  if (error instanceof LogUnreadable) return null;
  throw error;
}

function numbersTo(partitions: number): number[] {
  return Array.from({ length: partitions }, (_, number) => number);
}

/** Left out of kafkajs' types: the metadata. */
type Committed = PartitionOffset & { readonly metadata?: string | null };

/** The offset is negative where nothing is committed; other programs leave any metadata. */
function placeOf(committed: Committed = { partition: -1, offset: "-1" }): GroupPlace {
  const offset = committed.offset.startsWith("-") ? 0n : BigInt(committed.offset);
  const [announced = 0] = /^\d{1,19}$/.exec(committed.metadata ?? "") ?? [];
  const handled = BigInt(announced);
  return { offset, handled: handled > offset ? handled : offset };
}

interface Reported {
  readonly records: readonly LogRecord[];
  readonly next: bigint;
  readonly end: bigint;
}

/** An empty answer counts only where the broker says that the partition ends. */
async function fetchOne(
  connection: KafkaConnection,
  cluster: Cluster,
  named: NamedTopic,
  { number, offset }: { readonly number: number; readonly offset: bigint },
  bytesMax: number,
): Promise<Reported> {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(named.name, [number]));
  if (nodeId === undefined) throw new Error(`${named.name}, ${number} has no leader`);
  const broker = await cluster.findBroker({ nodeId });
  const fetch = async (from: bigint): Promise<Reported> => {
    while (!connection.isAbandoned) {
      const places = [{ number, offset: from }];
      const found = await fetchFrom(broker, named, places, { maxWaitTime: 0, bytesMax });
      const { records = [], next = from, end = null } = found.get(number) ?? {};
      if (end !== null && (next > from || end <= from)) return { records, next, end };
      await pause(heldBackMs);
    }
    throw new Error(`${named.name}, ${number} was not reported in time`);
  };
  try {
    return await fetch(offset);
  } catch (error) {
    if (!isOutOfRange(error, number)) throw error;
    const [earliest = 0n] = await boundsOf(cluster, named, [number], "earliest");
    return earliest > offset ? fetch(earliest) : { records: [], next: offset, end: offset };
  }
}
