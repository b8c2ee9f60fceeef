/**
 * The embedded log: one LMDB environment with a named store for each partition, one for the groups'
 * offsets, and the state of booking. For one process, which the data folder's lock ensures.
 */
import { mkdirSync } from "node:fs";
import {
  refuseTooLarge,
  partitionWithBulk,
  type Log,
  type NewRecord,
  type Position,
  type TopicOptions,
} from "../log.js";
import { refuseDamaged } from "./damaged-file.js";
import { type Database, open } from "lmdb";
import { type Topic, topics } from "../../../schemas/records/records.js";
import { limits } from "../../../config.js";
import { Partition, assertKey, pageBytes, Writer } from "./partition.js";
import { startRetention } from "./retention.js";
import { type GroupOffset, consumePartition } from "../partition-consumer.js";
import { Arrivals, Subscriptions, follow, giveTail, tailRecordsMax } from "../subscriptions.js";
import type { Logger } from "../../../runtime/logger.js";
import { LmdbState } from "../../state/lmdb-state.js";
import type { State } from "../../state/state.js";

export interface LmdbLogOptions {
  readonly path: string;
  readonly topics: Readonly<Record<Topic, TopicOptions>>;
  readonly logger: Logger;
  /** Bytes that may wait for a commit; more are refused. */
  readonly pendingBytesMax?: number;
}

export interface LmdbLog extends Log {
  /** Its commits share the log's transactions. Closed with the log. */
  readonly state: State;
}

/** An existing topic keeps its number of partitions. */
export function openLmdbLog(given: LmdbLogOptions): LmdbLog {
  const { path, logger, pendingBytesMax = limits.logPendingBytesMax } = given;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  refuseDamaged(path);
  const root = open({
    path,
    maxDbs: 256,
    mapSize: mapBytes,
    pageSize: pageBytes,
    // So a commit resolves only when it is on disk.
    overlappingSync: false,
    // Batching by turns of the event loop adds a promise that nobody can catch: on a full disk its
    // rejection would end the process. Every write here is part of an explicit batch anyway.
    eventTurnBatching: false,
  });
  const settings = root.openDB<number, string>({ name: "settings", encoding: "json" });
  const groupOffsets = root.openDB<number, string>({ name: "groups", encoding: "json" });
  const logs = new Map(
    Object.values(topics).map((topic) => [topic, openTopic(topic, given.topics[topic])]),
  );
  const places = new Map<string, StoredOffset>();
  const members = new Map<string, number>();
  const subscriptions = new Subscriptions();
  const writer = new Writer(root, path, pendingBytesMax, (durable) => {
    for (const { partitions, arrivals } of logs.values()) {
      let grew = false;
      for (const partition of partitions) {
        if (partition.staged === partition.end) continue;
        if (durable) {
          partition.end = partition.staged;
          partition.arrivals.announce();
          grew = true;
        } else partition.staged = partition.end;
      }
      if (grew) arrivals.announce();
    }
    state.ended(durable);
  });
  const state = new LmdbState(root, writer);
  const retained = [...logs.values()].map(({ options, partitions }) => ({
    options,
    partitions,
    handledBelow: (partition: Partition) =>
      Math.min(...(options.groups ?? []).map((group) => placeOf(group, partition).offset())),
  }));
  const retention = startRetention(retained, writer, logger);

  function openTopic(topic: Topic, options: TopicOptions): TopicLog {
    const made = settings.get(`partitions/${topic}`) ?? 0;
    // A restore may have made it wider; a log from before bulk had its partition was narrower.
    const length = Math.max(made, options.partitions);
    if (length > made) settings.putSync(`partitions/${topic}`, length);
    const partitions = Array.from({ length }, (_, number) => openPartition(topic, number));
    return { options, partitions, arrivals: new Arrivals() };
  }

  function openPartition(topic: Topic, number: number): Partition {
    const name = `${topic}/${number}`;
    const store = root.openDB<Buffer, number>({ name, encoding: "binary" });
    return new Partition(topic, number, store, settings.get(`begins/${name}`) ?? 0);
  }

  function topicLog(topic: Topic): TopicLog {
    const log = logs.get(topic);
    if (log === undefined) throw new Error(`there is no topic ${topic}`);
    return log;
  }

  function partitionAt(topic: Topic, number: number): Partition {
    const partition = topicLog(topic).partitions[number];
    if (partition === undefined) throw new Error(`${topic} has no partition ${number}`);
    return partition;
  }

  function partitionOf(topic: Topic, key: string): number {
    return partitionWithBulk(topic, key, topicLog(topic).partitions.length, spread);
  }

  function placeOf(group: string, partition: Partition): StoredOffset {
    const name = `${partition.topic}/${group}/${partition.number}`;
    const known = places.get(name);
    if (known) return known;
    const place = new StoredOffset(name, groupOffsets, writer);
    places.set(name, place);
    return place;
  }

  /** @param put of one record, inside the commit */
  async function write<T>(
    records: readonly NewRecord[],
    put: (record: NewRecord, now: number) => T,
  ): Promise<T[]> {
    for (const { key } of records) assertKey(key);
    return writer.write({
      records: records.length,
      bytes: records.reduce((sum, { value }) => sum + value.length, 0),
      apply() {
        const now = Date.now();
        return records.map((record) => put(record, now));
      },
    });
  }

  return {
    shared: false,
    state,

    async append(topic: Topic, records: readonly NewRecord[]): Promise<Position[]> {
      refuseTooLarge(records);
      if (records.length === 0) return [];
      return write(records, (record, now) => {
        const partition = partitionAt(topic, partitionOf(topic, record.key));
        return { partition: partition.number, offset: BigInt(partition.put(record, now)) };
      });
    },

    async checkAppends() {
      await writer.check(() => void settings.put("checked", Date.now()));
    },

    consume(options) {
      const { partitions } = topicLog(options.topic);
      const group = `${options.topic}/${options.group}`;
      members.set(group, (members.get(group) ?? 0) + 1);
      const parts = partitions.map((partition) => {
        const place = placeOf(options.group, partition);
        return consumePartition(partition, place, partition.arrivals, options, logger);
      });
      return subscriptions.add(parts, () => members.set(group, (members.get(group) ?? 1) - 1));
    },

    tail(topic, handle, from = new Map()) {
      const { partitions, arrivals } = topicLog(topic);
      const take = partitions.map((partition) => {
        let next = Number(from.get(partition.number) ?? partition.end);
        return () => {
          const records = partition.read(next, tailRecordsMax);
          const last = records.at(-1);
          if (last !== undefined) next = Number(last.offset) + 1;
          return records;
        };
      });
      const tail = follow((stop) => giveTail(take, arrivals, handle, logger, stop));
      return subscriptions.add([tail]);
    },

    async read(topic, partition, offset, recordsMax) {
      return topicLog(topic).partitions[partition]?.read(Number(offset), recordsMax) ?? [];
    },

    partitionOf,

    async ends(topic) {
      return topicLog(topic).partitions.map(({ end }) => BigInt(end));
    },

    async earliest(topic) {
      return topicLog(topic).partitions.map((partition) => BigInt(partition.earliest()));
    },

    async committed(topic, group) {
      return topicLog(topic).partitions.map((one) => BigInt(placeOf(group, one).offset()));
    },

    async handled(topic, group) {
      return topicLog(topic).partitions.map((one) => BigInt(placeOf(group, one).handled));
    },

    async seek(topic, group, offsets) {
      if ((members.get(`${topic}/${group}`) ?? 0) > 0) {
        throw new Error(`the group ${group} of ${topic} is running: stop it before it is moved`);
      }
      const moves = topicLog(topic).partitions.flatMap((partition) => {
        const offset = offsets.get(partition.number);
        return offset === undefined ? [] : [placeOf(group, partition).move(Number(offset))];
      });
      await Promise.all(moves);
    },

    async widen(topic, count) {
      const { partitions } = topicLog(topic);
      if (count <= partitions.length) return;
      while (partitions.length < count) partitions.push(openPartition(topic, partitions.length));
      await settings.put(`partitions/${topic}`, count);
    },

    async begin(topic, number, offset) {
      const partition = partitionAt(topic, number);
      const first = Number(offset);
      await writer.write({
        apply() {
          if (partition.staged > first) return;
          partition.begin(first);
          void settings.put(`begins/${topic}/${number}`, first);
        },
      });
      for (;;) {
        const before = partition.offsetsBefore(first, limits.logCommitRecordsMax);
        if (before.length === 0) return;
        await writer.remove(partition, before);
      }
    },

    async place(topic, number, offset, records) {
      const partition = partitionAt(topic, number);
      if (Number(offset) !== partition.end) {
        throw new Error(`${topic}, ${number} ends at ${partition.end} and cannot take ${offset}`);
      }
      await write(records, (record, now) => partition.put(record, now));
    },

    async close() {
      await subscriptions.close();
      await retention.close();
      await writer.close();
      await root.close();
    },
  };
}

/** Address space, not disk or memory; LMDB maps again when the log outgrows it. */
const mapBytes = 16 * 1024 ** 3;

interface TopicLog {
  readonly options: TopicOptions;
  readonly partitions: Partition[];
  readonly arrivals: Arrivals;
}

class StoredOffset implements GroupOffset {
  handled: number;
  #offset: number;
  #turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly name: string,
    private readonly store: Database<number, string>,
    private readonly writer: Writer,
  ) {
    this.#offset = store.get(name) ?? 0;
    this.handled = this.#offset;
  }

  offset(): number {
    return this.#offset;
  }

  async move(offset: number): Promise<void> {
    await this.writer.write({
      apply: () => void this.store.put(this.name, offset),
    });
    this.#offset = offset;
    this.handled = Math.max(this.handled, offset);
  }

  alone(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

/** FNV-1a over UTF-16 units: never to change, since a key must stay in its partition. */
export function spread(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % partitions;
}
