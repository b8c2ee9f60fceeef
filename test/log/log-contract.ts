/** The contract of stores/log/log.ts as tests, for every implementation. */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { rejection, until } from "../harness/promises.js";
import { together } from "../harness/together.js";
import { expect } from "chai";
import { limits } from "../../config.js";
import {
  bulkKey,
  bulkPartition,
  type ConsumeOptions,
  type Log,
  type LogRecord,
  LogUnavailable,
  type TopicOptions,
  logRecordBytesMax,
} from "../../stores/log/log.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { compare } from "../../runtime/lists.js";
import { linesUntilKilled } from "./reporting-process.js";

/** One place that keeps a log; opened again and again, as by one process after another. */
export interface LogInstallation {
  open(options?: Partial<TopicOptions>): Promise<Log>;
  /** Of log-appender.ts, so that it appends there. */
  readonly appenderWords: readonly string[];
  remove(): Promise<void>;
}

const topic = topics.raw;
const keys = Array.from({ length: 20 }, (_, index) => `customer ${index}`);
const oneOfEach = keys.map((key) => record(key));

export function describeLogContract(name: string, install: () => Promise<LogInstallation>): void {
  describe(`The log on ${name}`, () => {
    let installation: LogInstallation;
    let log: Log;

    beforeEach(async () => {
      installation = await install();
      log = await installation.open();
    });
    afterEach(async () => {
      await log.close();
      await installation.remove();
    });

    const consume = (how: OfGroup) => consumeFrom(log, how);

    async function reopen(options?: Partial<TopicOptions>): Promise<void> {
      await log.close();
      log = await installation.open(options);
    }

    it("should keep bulk in the raw topic's last partition, and nothing else there", async () => {
      const places = await log.append(
        topic,
        keys.flatMap((key) => [record(key), record(bulkKey(key))]),
      );
      const bulk = places.filter((_, index) => index % 2 === 1);
      const last = (await log.ends(topic)).length - 1;
      expect(bulkPartition(log)).to.equal(last);
      expect(new Set(bulk.map(({ partition }) => partition))).to.deep.equal(new Set([last]));
      expect(places.filter(({ partition }) => partition === last)).to.have.length(keys.length);
    });

    it("should keep what was appended, in order per key, when opened again", async () => {
      const batches = Array.from({ length: 10 }, (_, round) =>
        keys.map((key) => ({ key, value: Buffer.from(`${key}/${round}`) })),
      );
      await Promise.all(batches.map((records) => log.append(topic, records)));
      await reopen();
      const found = await readAll(log);
      expect(found).to.have.length(200);
      for (const key of keys) {
        const partitions = new Set(found.filter((one) => one.key === key).map((r) => r.partition));
        expect([...partitions]).to.eql([log.partitionOf(topic, key)]);
        expect(found.filter((one) => one.key === key).map((one) => one.value.toString())).to.eql(
          Array.from({ length: 10 }, (_, round) => `${key}/${round}`),
        );
      }
    });

    it("should report each record's place, growing by one and never given twice", async () => {
      const reported = (
        await Promise.all(keys.map((key) => log.append(topic, [record(key), record(key)])))
      ).flat();
      await reopen();
      reported.push(...(await log.append(topic, [record(keys[0])])));
      const places = reported.map(({ partition, offset }) => `${partition}/${offset}`);
      expect(new Set(places)).to.have.property("size", 41);
      for (const [partition, end] of (await log.ends(topic)).entries()) {
        const offsets = reported
          .filter((one) => one.partition === partition)
          .map((one) => one.offset);
        expect(offsets.sort(compare)).to.eql(
          Array.from({ length: Number(end) }, (_, n) => BigInt(n)),
        );
      }
    });

    it("should take nothing but give no error for an empty append", async () => {
      expect(await log.append(topic, [])).to.eql([]);
      expect(await readAll(log)).to.eql([]);
    });

    it("should keep bytes and keys as they are", async () => {
      const value = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await log.append(topic, [
        { key: "é😀\0\n", value },
        { key: "", value: Buffer.alloc(0) },
      ]);
      const found = await readAll(log);
      expect(found.map((one) => one.key).sort()).to.eql(["", "é😀\0\n"]);
      expect(found.find((one) => one.key !== "")?.value.equals(value)).to.equal(true);
      expect(found.find((one) => one.key === "")?.value.length).to.equal(0);
    });

    it("should have every acknowledged record after kill -9", async () => {
      await log.close();
      const words = installation.appenderWords;
      const acknowledged = await linesUntilKilled("log/log-appender", words, 2_000);
      log = await installation.open();
      const found = new Set(
        (await readAll(log)).map((one) => `${one.partition} ${one.offset} ${one.value.toString()}`),
      );
      expect(acknowledged.length).to.be.at.least(2_000);
      expect(acknowledged.filter((line) => !found.has(line))).to.eql([]);
    });

    it("should give each partition's records to a group in order, in batches, once", async () => {
      await log.append(
        topic,
        keys.flatMap((key) => Array.from({ length: 30 }, () => record(key))),
      );
      const batches: LogRecord[][] = [];
      const subscription = consume({
        batchRecordsMax: 7,
        handle: async (records) => void batches.push([...records]),
      });
      await until(() => batches.flat().length >= 600);
      await subscription.close();
      await reopen();
      expect(batches.every((batch) => batch.length >= 1 && batch.length <= 7)).to.equal(true);
      expect(batches.flat()).to.have.length(600);
      for (const batch of batches) {
        expect(new Set(batch.map((one) => one.partition))).to.have.property("size", 1);
      }
      for (const [partition, end] of (await log.ends(topic)).entries()) {
        const given = batches.flat().filter((one) => one.partition === partition);
        expect(given.map((one) => one.offset)).to.eql(
          Array.from({ length: Number(end) }, (_, offset) => BigInt(offset)),
        );
      }
      expect(await log.committed(topic, "g")).to.eql(await log.ends(topic));
    });

    it("should move the offset when a batch is finished, giving later ones meanwhile", async () => {
      const [place] = await log.append(topic, [record("a")]);
      await log.append(topic, [record("a"), record("a")]);
      const partition = place?.partition ?? 0;
      const [first, others] = [gate(), gate()];
      let handled = 0;
      const subscription = consume({
        batchRecordsMax: 1,
        async handle() {
          handled += 1;
          return { finished: (handled === 1 ? first : others).enter() };
        },
      });
      await until(() => handled === 3);
      others.open();
      await pause(30);
      expect((await log.committed(topic, "g"))[partition]).to.equal(0n);
      expect((await log.handled(topic, "g"))[partition]).to.equal(3n);
      first.open();
      await subscription.close();
      expect((await log.committed(topic, "g"))[partition]).to.equal(3n);
    });

    it("should count as handled what is shown, in order, before it is finished", async () => {
      const [place] = await log.append(topic, [record("a"), record("a")]);
      const partition = place?.partition ?? 0;
      const [shown, finished] = [gate(), gate()];
      let given = 0;
      const subscription = consume({
        batchRecordsMax: 1,
        async handle() {
          given += 1;
          const isFirst = given === 1;
          return { finished: finished.enter(), ...(isFirst && { shown: shown.enter() }) };
        },
      });
      await until(() => given === 2);
      await pause(30);
      const handled = async () => (await log.handled(topic, "g"))[partition];
      expect(await handled()).to.equal(0n);
      shown.open();
      await until(async () => (await handled()) === 2n);
      expect((await log.committed(topic, "g"))[partition]).to.equal(0n);
      finished.open();
      await subscription.close();
      expect((await log.committed(topic, "g"))[partition]).to.equal(2n);
    });

    it("should take the largest record there may be, and refuse a larger one at once", async () => {
      const [{ key }, room] = [record("a"), logRecordBytesMax];
      // What no compression makes smaller.
      const largest = { key, value: randomBytes(room - Buffer.byteLength(key)) };
      const larger = { key, value: randomBytes(room) };
      expect(await rejection(log.append(topic, [record("b"), larger]))).to.include({
        name: "RecordTooLarge",
      });
      await log.append(topic, [largest]);
      const found = await readAll(log);
      expect(found.map(({ value }) => value.equals(largest.value))).to.eql([true]);
    });

    it("should give up to consumedBytesMax at once, and any single record", async () => {
      const value = Buffer.alloc(limits.consumedBytesMax / 4 - 1);
      const batches: (readonly LogRecord[])[] = [];
      for (let count = 0; count < 6; count += 1) await log.append(topic, [{ key: "a", value }]);
      const subscription = consume({
        batchRecordsMax: 100,
        handle: async (records) => void batches.push(records),
      });
      await until(() => batches.flat().length >= 6);
      await subscription.close();
      for (const records of batches) {
        const bytes = records.reduce((sum, one) => sum + one.value.length, 0);
        expect(bytes).to.be.at.most(limits.consumedBytesMax);
      }
      expect(batches.flat()).to.have.length(6);
    });

    it("should let members of one group share the work, each record to one of them", async () => {
      const given: string[] = [];
      const handle = async (records: readonly LogRecord[]): Promise<void> => {
        await pause(1);
        given.push(...records.map((one) => `${one.partition}/${one.offset}`));
      };
      const members = [1, 2].map(() => consume({ batchRecordsMax: 3, handle }));
      await log.append(topic, oneOfEach);
      await until(() => given.length >= 20);
      await Promise.all(members.map((member) => member.close()));
      expect(new Set(given)).to.have.property("size", 20);
      expect(given).to.have.length(20);
    });

    it("should move the offset of the batch a close waits for, and begin no other", async () => {
      await log.append(topic, [record("a"), record("a"), record("a")]);
      const held = gate();
      const subscription = consume({
        batchRecordsMax: 1,
        handle: () => held.enter(),
      });
      await held.entered;
      let closed = false;
      const closing = subscription.close().then(() => (closed = true));
      await pause(30);
      expect([closed, await committed(log)]).to.eql([false, 0n]);
      held.open();
      await closing;
      await subscription.close();
      expect([held.entries(), await committed(log)]).to.eql([1, 1n]);
    });

    it("should tail what comes from now on, in order, also when its handler fails", async () => {
      await log.append(topic, [record("a", "before")]);
      const given: string[] = [];
      const tail = log.tail(topic, (one) => {
        given.push(one.value.toString());
        if (given.length === 1) throw new Error("a socket is gone");
      });
      for (const value of ["1", "2", "3"]) await log.append(topic, [record("a", value)]);
      await until(() => given.length >= 3);
      await tail.close();
      expect(given).to.eql(["1", "2", "3"]);
    });

    it("should tail from given offsets, one call at a time, without moving any group", async () => {
      await log.append(
        topic,
        Array.from({ length: 6 }, (_, n) => record("a", String(n))),
      );
      const [partition = 0] = await partitionsWithRecords(log);
      const given: string[] = [];
      let running = 0;
      let most = 0;
      const tail = log.tail(
        topic,
        async (one) => {
          running += 1;
          most = Math.max(most, running);
          await pause(1);
          given.push(one.value.toString());
          running -= 1;
        },
        new Map([[partition, 2n]]),
      );
      await until(() => given.length >= 4);
      await tail.close();
      expect(given).to.eql(["2", "3", "4", "5"]);
      expect(most).to.equal(1);
      expect((await log.committed(topic, "tail"))[partition]).to.equal(0n);
    });

    it("should set a group back for a replay, but not while it runs", async () => {
      await log.append(topic, [record("a"), record("a")]);
      const [partition = 0] = await partitionsWithRecords(log);
      const given: bigint[] = [];
      const options = {
        batchRecordsMax: 10,
        handle: async (records: readonly LogRecord[]) =>
          void given.push(...records.map((one) => one.offset)),
      };
      const first = consume(options);
      await until(() => given.length >= 2);
      expect(await rejection(log.seek(topic, "g", new Map([[partition, 0n]])))).to.be.an("error");
      await first.close();
      await log.seek(topic, "g", new Map([[partition, 1n]]));
      const second = consume(options);
      await until(() => given.length >= 3);
      await second.close();
      expect(given).to.eql([0n, 1n, 1n]);
    });

    it("should put records where another log had them, and go on from there", async () => {
      await log.begin(topic, 2, 5n);
      await log.place(topic, 2, 5n, [record("x", "five"), record("y", "six")]);
      await log.begin(topic, 3, 4n);
      await log.place(topic, 2, 7n, [record("z", "seven")]);
      await reopen();
      expect((await log.ends(topic)).slice(2)).to.eql([8n, 4n]);
      expect((await log.earliest(topic)).slice(2)).to.eql([5n, 4n]);
      const found = await log.read(topic, 2, 5n, 10);
      const shown = (one: LogRecord) => `${one.offset} ${one.key} ${one.value.toString()}`;
      const placed = ["5 x five", "6 y six", "7 z seven"];
      expect(found.map(shown)).to.eql(placed);
      const given: string[] = [];
      const consumer = consume({
        batchRecordsMax: 10,
        handle: async (records) => void given.push(...records.map(shown)),
      });
      await until(() => given.length >= 3);
      await consumer.close();
      expect(given).to.eql(placed);
      for (const offset of [7n, 9n]) {
        const refusal = await rejection(log.place(topic, 2, offset, [record()]));
        expect(String(refusal)).to.match(new RegExp(`ends at 8 and cannot take ${offset}`));
      }
    });

    it("should begin where a restore says, without what an interrupted one left", async () => {
      const [place] = await log.append(topic, [record("a"), record("a"), record("a")]);
      const { partition } = place ?? { partition: 0 };
      const bounds = async () => [
        (await log.earliest(topic))[partition],
        (await log.ends(topic))[partition],
      ];
      await log.begin(topic, partition, 3n);
      expect(await bounds()).to.eql([3n, 3n]);
      await reopen();
      expect(await bounds()).to.eql([3n, 3n]);
      await log.place(topic, partition, 3n, [record("b", "three"), record("c", "four")]);
      await log.begin(topic, partition, 3n);
      expect(await bounds()).to.eql([3n, 5n]);
      expect((await log.read(topic, partition, 0n, 10)).map(({ offset }) => offset)).to.eql([
        3n,
        4n,
      ]);
      await log.begin(topic, partition, 4n);
      expect(await bounds()).to.eql([4n, 5n]);
      await log.begin(topic, partition, 9n);
      expect(await bounds()).to.eql([9n, 9n]);
      await reopen();
      expect(await bounds()).to.eql([9n, 9n]);
    });

    it("should be widened for a restore, at its end", async () => {
      await log.append(topic, [record("a", "kept")]);
      const before = await log.ends(topic);
      await log.widen(topic, 6);
      await log.widen(topic, 5);
      await log.place(topic, 5, 0n, [record("b", "new")]);
      expect(await log.ends(topic)).to.eql([...before, 0n, 1n]);
    });

    it("should say that it is unavailable when it cannot take records", async () => {
      await log.close();
      expect(await rejection(log.append(topic, [record("a")]))).to.be.instanceOf(LogUnavailable);
      log = await installation.open();
    });
  });

  describe(`The log on ${name}, while a group rests or fails`, () => {
    const itTogether = together();
    const closing: (() => Promise<void>)[] = [];
    after(async () => {
      for (const close of closing) await close();
    });

    async function open() {
      const installation = await install();
      const log = await installation.open();
      closing.push(async () => {
        await log.close();
        await installation.remove();
      });
      return { log, consume: (how: OfGroup) => consumeFrom(log, how) };
    }

    itTogether("should give what comes while a group rests to its next batch", async () => {
      const { log, consume } = await open();
      const batches: string[][] = [];
      const from = (text: string) => ({ key: "one customer", value: Buffer.from(text) });
      const subscription = consume({
        batchRecordsMax: 10,
        shareMax: 1 / 20,
        handle: async (records) => {
          batches.push(records.map((one) => one.value.toString()));
          if (batches.length > 1) return;
          // It is there when the group begins to rest, for a second or longer.
          await log.append(topic, [from("second")]);
          await pause(60);
        },
      });
      await log.append(topic, [from("first")]);
      await until(() => batches.length > 0);
      await pause(200);
      await log.append(topic, [from("third")]);
      await until(() => batches.flat().length >= 3);
      await subscription.close();
      expect(batches).to.eql([["first"], ["second", "third"]]);
    });

    itTogether(
      "should give the same batch again after a failure while other partitions run",
      async () => {
        const { log, consume } = await open();
        await log.append(topic, oneOfEach);
        const parts = await partitionsWithRecords(log);
        expect(parts.length).to.be.greaterThan(1);
        const failing = parts[0];
        const attempts: string[] = [];
        const handled: LogRecord[] = [];
        const subscription = consume({
          batchRecordsMax: 100,
          async handle(records) {
            if (records[0]?.partition === failing) {
              attempts.push(records.map((one) => one.offset).join());
              if (attempts.length < 3) throw new Error("the world fails");
            }
            handled.push(...records);
          },
        });
        await until(() => handled.some((one) => one.partition !== failing));
        await until(() => handled.length >= 20);
        await subscription.close();
        expect(attempts).to.have.length(3);
        expect(new Set(attempts)).to.have.property("size", 1);
        expect(handled).to.have.length(20);
      },
    );

    itTogether("should give everything again from where finishing failed", async () => {
      const { log, consume } = await open();
      await log.append(topic, [record("a"), record("a"), record("a")]);
      const failing = gate();
      const given: bigint[] = [];
      const subscription = consume({
        batchRecordsMax: 1,
        async handle([one]) {
          given.push(one?.offset ?? -1n);
          if (given.length !== 2) return undefined;
          const finished = failing.enter().then(() => {
            throw new Error("the world fails");
          });
          return { finished };
        },
      });
      await until(() => given.length >= 3);
      failing.open();
      await until(() => given.length >= 5);
      await subscription.close();
      expect(given).to.eql([0n, 1n, 2n, 1n, 2n]);
      expect(await committed(log)).to.equal(3n);
    });

    itTogether(
      "should find the records a group fails on, pass them over and give all others",
      async () => {
        const { log, consume } = await open();
        const values = Array.from({ length: 100 }, (_, index) => String(index));
        const poison = new Set(["0", "41", "42", "99"]);
        await log.append(
          topic,
          values.map((value) => ({ key: "a", value: Buffer.from(value) })),
        );
        const handled = new Set<string>();
        const passed: string[] = [];
        const failing = consume({
          batchRecordsMax: 30,
          async handle(records) {
            const texts = records.map(({ value }) => value.toString());
            const work = async (): Promise<void> => {
              if (texts.some((text) => poison.has(text))) throw new Error("an event is bad");
              for (const text of texts) handled.add(text);
            };
            // In handling as in what is left to be finished.
            if (texts.includes("41")) return { finished: work() };
            await work();
            return undefined;
          },
          passOver: async ({ value }) => void passed.push(value.toString()),
        });
        await untilCommitted(log, 100n);
        await failing.close();
        expect(passed).to.eql([...poison]);
        expect([...handled].map(Number).toSorted((one, other) => one - other)).to.eql(
          values.filter((text) => !poison.has(text)).map(Number),
        );
      },
    );

    itTogether(
      "should pass nothing over while a store is away, however often it fails",
      async () => {
        const { log, consume } = await open();
        await log.append(topic, [record("a"), record("a")]);
        let failures = 0;
        const passed: unknown[] = [];
        const subscription = consume({
          batchRecordsMax: 1,
          async handle() {
            if (failures >= 6) return;
            failures += 1;
            throw new Error("a statement failed", { cause: new LogUnavailable("away") });
          },
          passOver: async (one) => void passed.push(one),
        });
        await untilCommitted(log, 2n);
        await subscription.close();
        expect(failures).to.equal(6);
        expect(passed).to.eql([]);
      },
    );

    itTogether(
      "should try a record again when a store was away as it was passed over",
      async () => {
        const { log, consume } = await open();
        await log.append(topic, [record("a"), record("a")]);
        let isFull = true;
        const handled: bigint[] = [];
        const passed: unknown[] = [];
        const subscription = consume({
          batchRecordsMax: 2,
          async handle(records) {
            if (isFull) throw new Error("an error that is not known to mean a full disk");
            for (const { offset } of records) handled.push(offset);
          },
          async passOver(one) {
            if (!isFull) return void passed.push(one);
            isFull = false;
            throw new LogUnavailable("away");
          },
        });
        await untilCommitted(log, 2n);
        await subscription.close();
        expect(passed).to.eql([]);
        expect(handled).to.have.length(2);
      },
    );
  });
}

type OfGroup = Omit<ConsumeOptions, "topic" | "group">;

/** By the group g. */
function consumeFrom(log: Log, how: OfGroup) {
  return log.consume({ topic, group: "g", ...how });
}

export function record(key = "a", value = "v"): { key: string; value: Buffer } {
  return { key, value: Buffer.from(value) };
}

export async function readAll(log: Log, of: Topic = topic): Promise<LogRecord[]> {
  const found: LogRecord[] = [];
  for (const [partition, end] of (await log.ends(of)).entries()) {
    for (let from = (await log.earliest(of))[partition] ?? 0n; from < end;) {
      const records = await log.read(of, partition, from, 1_000);
      found.push(...records);
      from = (records.at(-1)?.offset ?? end) + 1n;
    }
  }
  return found;
}

async function partitionsWithRecords(log: Log): Promise<number[]> {
  return [...(await log.ends(topic)).entries()]
    .filter(([, end]) => end > 0n)
    .map(([number]) => number);
}

export function gate() {
  let open = (): void => {};
  let enterOnce = (): void => {};
  let entries = 0;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const entered = new Promise<void>((resolve) => (enterOnce = resolve));
  return {
    open: () => open(),
    entered,
    entries: () => entries,
    async enter(): Promise<void> {
      entries += 1;
      enterOnce();
      await opened;
    },
  };
}

/** Of the group g, over all partitions. */
async function committed(log: Log): Promise<bigint> {
  return (await log.committed(topic, "g")).reduce((sum, offset) => sum + offset, 0n);
}

async function untilCommitted(log: Log, count: bigint): Promise<void> {
  while ((await committed(log)) < count) await pause(10);
}
