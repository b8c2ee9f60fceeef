/** The contract of the state port (stores/state/state.ts), run on every adapter. */
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import {
  type Commit,
  Fenced,
  type Lane,
  type RowLane,
  type OwnedPartition,
  type Queued,
  type SealedBatch,
  type State,
  keyBytesMax,
  rowLanes,
  sealedEntriesMax,
} from "../../stores/state/state.js";
import { Chance } from "../../ops/demo/chance.js";
import { rejection } from "../harness/promises.js";

export interface StateInstallation {
  /** As a process has it that has just started. */
  open(): Promise<{ readonly state: State; close(): Promise<void> }>;
  /** As another process has it beside the first; the same where there can be one only. */
  beside(state: State): State;
  remove(): Promise<void>;
}

type Sizes = readonly number[];
const [p, q, r] = [0, 3, 258] as const;
const mebibyte = 1024 ** 2;
const noLimit = Number.MAX_SAFE_INTEGER;

/** What a test of commits has to say about one, the rest as it mostly is. */
export function commitOf(
  offset: number | bigint,
  values: Readonly<Record<string, string | Buffer>> = {},
  queued: Partial<Record<Lane, string | Buffer>> = {},
  published = 0n,
): Commit {
  return {
    offset: BigInt(offset),
    values: new Map(buffersIn(values)),
    queued: Object.fromEntries(buffersIn(queued)),
    published,
  };
}

function buffersIn(given: Readonly<Record<string, string | Buffer>>): [string, Buffer][] {
  return Object.entries(given).map(([key, value]) => [key, Buffer.from(value)]);
}

/** `partition:value` of each. */
function shown(batch: SealedBatch | null): string[] {
  return (batch?.entries ?? []).map(({ partition, value }) => `${partition}:${value.toString()}`);
}

async function allOf(state: State, partition: number): Promise<[string, string][]> {
  const all: [string, string][] = [];
  for await (const [key, value] of state.values(partition)) all.push([key, value.toString()]);
  return all;
}

/** `sequence:value` of each. */
async function unpublished(owned: OwnedPartition): Promise<string[]> {
  const messages = await owned.unpublished();
  return messages.map(({ sequence, value }) => `${sequence}:${value.toString()}`);
}

/**
 * @param install may leave the suite out
 * @param isSpread over several databases: a batch has partitions of one of them
 */
export function describeStateContract(
  name: string,
  install: (context: Mocha.Context) => Promise<StateInstallation>,
  isSpread = false,
): void {
  const itTogether = isSpread ? () => undefined : it;
  describe(`The state on ${name}`, function () {
    this.timeout(60_000);
    let installation: StateInstallation;
    let opened: Awaited<ReturnType<StateInstallation["open"]>>;
    let state: State;
    before(async function () {
      installation = await install(this);
    });
    after(() => installation?.remove());
    beforeEach(async () => {
      opened = await installation.open();
      ({ state } = opened);
      await state.clear();
    });
    afterEach(() => opened?.close());

    async function reopen(): Promise<void> {
      await opened.close();
      opened = await installation.open();
      ({ state } = opened);
    }

    /** Commits one after the other, each with one entry in the lane. */
    async function queue(owned: OwnedPartition, lane: Lane, values: Iterable<string | Buffer>) {
      let offset = owned.offset;
      for (const value of values)
        await owned.commit(commitOf((offset += 1n), {}, { [lane]: value }));
    }

    /** The next batch, where there is one. */
    async function sealed(of: State, lane: RowLane, bytesMax: number): Promise<SealedBatch> {
      const batch = await of.seal(lane, bytesMax);
      if (batch === null) throw new Error("nothing is queued");
      return batch;
    }

    describe("as it commits", () => {
      it("should keep values, offset and what was queued for who takes the partition", async () => {
        const owned = await state.take(p);
        expect(owned.offset).to.equal(0n);
        await owned.commit(
          commitOf(7, { a: "1", b: "2" }, { messages: "m", shown: "s", rest: "r" }),
        );
        await owned.commit(commitOf(2n ** 40n, { b: "3", c: "" }, { rest: "" }));
        await reopen();
        const again = await state.take(p);
        expect(again.offset).to.equal(2n ** 40n);
        const read = await again.read(["c", "b", "a", "none"]);
        expect(Object.fromEntries(read)).to.eql({
          a: Buffer.from("1"),
          b: Buffer.from("3"),
          c: Buffer.alloc(0),
        });
        const messages = await again.unpublished();
        expect(messages.map(({ value }) => value.toString())).to.eql(["m"]);
        expect(shown(await state.seal("shown", noLimit))).to.eql([`${p}:s`]);
        expect(shown(await state.seal("rest", noLimit))).to.eql([`${p}:r`, `${p}:`]);
      });

      it("should keep partitions apart", async () => {
        const [first, second] = [await state.take(p), await state.take(q)];
        await first.commit(commitOf(1, { a: "of the first" }));
        await second.commit(commitOf(2, { a: "of the second" }));
        await reopen();
        expect((await state.take(p)).offset).to.equal(1n);
        const again = await state.take(q);
        expect(again.offset).to.equal(2n);
        expect((await again.read(["a"])).get("a")?.toString()).to.equal("of the second");
      });

      it("should number the commits of a partition one by one, whoever has it", async () => {
        const taken = await state.take(p);
        const first = await taken.commit(commitOf(1));
        expect(first).to.equal(taken.sequence + 1n);
        await reopen();
        const owned = await state.take(p);
        expect(owned.sequence).to.equal(first);
        const next = [await owned.commit(commitOf(2)), await owned.commit(commitOf(2))];
        expect(next).to.eql([first + 1n, first + 2n]);
        await state.clear();
        const anew = await state.take(p);
        expect(anew.sequence).to.equal(first + 2n);
        const last = await anew.commit(commitOf(1, {}, { rest: "x" }));
        expect(last).to.equal(first + 3n);
        expect((await state.seal("rest", noLimit))?.entries[0]?.sequence).to.equal(last);
      });

      it("should take many keys, and large values", async () => {
        const owned = await state.take(p);
        const many = Object.fromEntries(
          Array.from({ length: 5_000 }, (_, index) => [`key ${index}`, `value ${index}`]),
        );
        await owned.commit(commitOf(1, many));
        const [large, queued] = [randomBytes(5 * mebibyte), randomBytes(5 * mebibyte)];
        await owned.commit(commitOf(2, { large, "key 1": "anew" }, { shown: queued }));
        await reopen();
        const read = await (await state.take(p)).read([...Object.keys(many), "large"]);
        expect(read.size).to.equal(5_001);
        expect(read.get("key 1")?.toString()).to.equal("anew");
        expect(read.get("key 4999")?.toString()).to.equal("value 4999");
        expect(read.get("large")?.equals(large)).to.equal(true);
        const batch = await sealed(state, "shown", mebibyte);
        expect(batch.entries.map(({ value }) => value.equals(queued))).to.eql([true]);
        expect(await (await state.take(p)).read([])).to.eql(new Map());
      });

      it("should take any key up to its bound, and refuse others whole", async () => {
        const owned = await state.take(p);
        const longest = "é".repeat(keyBytesMax / 2);
        await owned.commit(commitOf(1, { [longest]: "1", "\u0001'\\{},\"": "2" }));
        for (const wrong of ["", "a\0b", `${longest}a`]) {
          await rejection(owned.commit(commitOf(2, { good: "3", [wrong]: "4" }, { rest: "5" })));
        }
        expect(await state.seal("rest", noLimit)).to.equal(null);
        expect(await allOf(state, p)).to.eql([
          ["\u0001'\\{},\"", "2"],
          [longest, "1"],
        ]);
        await owned.commit(commitOf(2));
      });

      it("should fence who had the partition before, and change nothing by it", async () => {
        const stalled = await state.take(p);
        await stalled.commit(commitOf(1, { a: "1" }));
        const successor = await installation.beside(state).take(p);
        const late = await rejection(
          stalled.commit(commitOf(9, { a: "9", b: "9" }, { rest: "9" })),
        );
        expect(late).to.be.instanceOf(Fenced);
        expect(await allOf(state, p)).to.eql([["a", "1"]]);
        expect(await installation.beside(state).seal("rest", noLimit)).to.equal(null);
        await successor.commit(commitOf(2, { a: "2" }));
        expect(await rejection(stalled.commit(commitOf(9)))).to.be.instanceOf(Fenced);
        expect((await state.take(p)).offset).to.equal(2n);
      });

      it("should say of each owner whether the partition is still in its hands", async () => {
        const [owned, other] = [await state.take(p), await state.take(q)];
        await owned.commit(commitOf(1));
        expect(await owned.isHeld()).to.equal(true);
        const successor = await installation.beside(state).take(p);
        expect([await owned.isHeld(), await successor.isHeld()]).to.eql([false, true]);
        const again = await state.take(p);
        const held = [await owned.isHeld(), await successor.isHeld(), await again.isHeld()];
        expect(held).to.eql([false, false, true]);
        expect(await other.isHeld()).to.equal(true);
        await state.clear();
        expect(await again.isHeld()).to.equal(false);
      });

      it("should let who takes it see all that who had it before was promised", async () => {
        const stalled = await state.take(p);
        const [outcome, successor] = await Promise.all([
          stalled.commit(commitOf(1, { a: "1" })).catch((error: unknown) => error),
          installation.beside(state).take(p),
        ]);
        expect(successor.offset).to.equal(typeof outcome === "bigint" ? 1n : 0n);
        if (typeof outcome !== "bigint") expect(outcome).to.be.instanceOf(Fenced);
      });

      it("should let one of two commits through that are under way at once", async () => {
        const owned = await state.take(p);
        const outcomes = await Promise.allSettled(
          [1, 2, 3].map((next) => owned.commit(commitOf(next, { [`of ${next}`]: "1" }))),
        );
        const done = outcomes.flatMap((one, index) => (one.status === "fulfilled" ? [index] : []));
        const failures = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
        expect(done).to.have.lengthOf(1);
        expect(failures.every((failure) => failure instanceof Fenced)).to.equal(true);
        expect(await allOf(state, p)).to.have.lengthOf(1);
      });
    });

    describe("as it publishes", () => {
      it("should keep messages in order until a commit says they are published", async () => {
        const [owned, other] = [await state.take(p), await state.take(q)];
        await queue(other, "messages", ["another's"]);
        await queue(owned, "messages", ["a", "b"]);
        await owned.commit(commitOf(3, {}, { rest: "rows" }));
        const { sequence } = owned;
        await owned.commit(commitOf(4, {}, { messages: "d" }, sequence + 1n));
        expect(await unpublished(owned)).to.eql([`${sequence + 2n}:b`, `${sequence + 4n}:d`]);
        await reopen();
        const again = await state.take(p);
        expect(await unpublished(again)).to.eql([`${sequence + 2n}:b`, `${sequence + 4n}:d`]);
        await again.commit(commitOf(4, {}, {}, sequence + 3n));
        expect(await unpublished(again)).to.eql([`${sequence + 4n}:d`]);
        // Less than was said before.
        await again.commit(commitOf(4, {}, { messages: "f" }, 0n));
        expect(await unpublished(again)).to.eql([`${sequence + 4n}:d`, `${sequence + 6n}:f`]);
        await again.commit(commitOf(4, {}, {}, sequence + 6n));
        expect(await unpublished(again)).to.eql([]);
        await reopen();
        expect(await unpublished(await state.take(p))).to.eql([]);
        expect(await unpublished(await state.take(q))).to.have.lengthOf(1);
        expect(shown(await state.seal("rest", noLimit))).to.eql([`${p}:rows`]);
      });

      it("should show who had it before nothing of what is committed since", async () => {
        const before = await state.take(p);
        await queue(before, "messages", ["a"]);
        const successor = await installation.beside(state).take(p);
        await successor.commit(commitOf(2, {}, { messages: "b" }));
        const known = await before.unpublished();
        expect(known.map(({ value }) => value.toString())).to.eql(["a"]);
        // What it has published by then is no mistake of its own.
        const published = known.at(-1)?.sequence ?? 0n;
        const late = before.commit(commitOf(3, {}, {}, published));
        expect(await rejection(late)).to.be.instanceOf(Fenced);
      });

      it("should count no more what is published, and that once", async () => {
        const owned = await state.take(p);
        const first = await owned.commit(commitOf(1, {}, { messages: "123", rest: "4567" }));
        const second = await owned.commit(commitOf(2, {}, { messages: "89" }));
        expect(await state.queuedBytes()).to.equal(9);
        await owned.commit(commitOf(3, {}, { shown: "1" }, first));
        expect(await state.queuedBytes()).to.equal(7);
        await owned.commit(commitOf(4, {}, {}, first));
        expect(await state.queuedBytes()).to.equal(7);
        await owned.commit(commitOf(5, {}, { messages: "12345" }, second));
        expect(await state.queuedBytes()).to.equal(10);
        await reopen();
        const again = await state.take(p);
        expect(await state.queuedBytes()).to.equal(10);
        await again.commit(commitOf(6, {}, {}, again.sequence));
        expect(await state.queuedBytes()).to.equal(5);
        for (const lane of rowLanes) await state.remove(await sealed(state, lane, noLimit));
        expect(await state.queuedBytes()).to.equal(0);
      });

      it("should leave the messages when the commit that says so is fenced", async () => {
        const stalled = await state.take(p);
        const sequence = await stalled.commit(commitOf(1, {}, { messages: "123" }));
        const successor = await installation.beside(state).take(p);
        const late = commitOf(2, {}, { messages: "4" }, sequence);
        expect(await rejection(stalled.commit(late))).to.be.instanceOf(Fenced);
        expect(await unpublished(successor)).to.eql([`${sequence}:123`]);
        await state.take(p);
        expect(await state.queuedBytes()).to.equal(3);
      });

      it("should take messages away once when several commits at once say so", async () => {
        const chance = new Chance(name);
        let owned = await state.take(p);
        for (let round = 0; round < 30; round += 1) {
          const { sequence } = owned;
          await owned.commit(commitOf(1, {}, { messages: "m".repeat(chance.whole(0, 90)) }));
          const messages = "m".repeat(chance.whole(1, 90));
          const commits = Array.from({ length: 3 }, () =>
            owned.commit(commitOf(1, {}, { messages }, sequence + 1n)).catch(() => null),
          );
          const taking = chance.happens(50) ? state.take(p) : undefined;
          await Promise.all(commits);
          // Which of them came first is for the state to say.
          owned = await (taking ?? state.take(p));
          const left = await owned.unpublished();
          const leftBytes = left.reduce((sum, { value }) => sum + value.length, 0);
          expect(await state.queuedBytes()).to.equal(leftBytes);
          await owned.commit(commitOf(1, {}, {}, owned.sequence));
          expect(await state.queuedBytes()).to.equal(0);
          owned = await state.take(p);
        }
      });

      it("should refuse a commit that says more is published than was committed", async () => {
        const owned = await state.take(p);
        const sequence = await owned.commit(commitOf(1, {}, { messages: "m" }));
        await rejection(owned.commit(commitOf(2, {}, {}, sequence + 1n)));
        expect(await unpublished(owned)).to.eql([`${sequence}:m`]);
        await owned.commit(commitOf(2, {}, {}, sequence));
      });
    });

    describe("as it seals", () => {
      itTogether("should give what is queued by partition and order, of those taken", async () => {
        const [second, first, other] = [
          await state.take(q),
          await state.take(p),
          await state.take(r),
        ];
        await queue(first, "rest", ["a", "b"]);
        await queue(second, "rest", ["c", "d"]);
        await queue(other, "rest", ["e"]);
        await reopen();
        expect(await state.seal("rest", noLimit)).to.equal(null);
        await state.take(q);
        await state.take(p);
        const batch = await sealed(state, "rest", noLimit);
        expect(shown(batch)).to.eql([`${p}:a`, `${p}:b`, `${q}:c`, `${q}:d`]);
        const [one, next] = batch.entries ?? [];
        expect((next?.sequence ?? 0n) - (one?.sequence ?? 0n)).to.equal(1n);
        await state.take(r);
        await state.remove(batch);
        expect(shown(await state.seal("rest", noLimit))).to.eql([`${r}:e`]);
      });

      const bounds: [queued: Sizes, bytesMax: number, batches: readonly Sizes[]][] = [
        [[10, 10, 10], 30, [[10, 10, 10]]],
        [[10, 10, 10], 29, [[10, 10], [10]]],
        [[10, 10, 10], 0, [[10], [10], [10]]],
        [[50, 10, 10, 50], 20, [[50], [10, 10], [50]]],
        [[10, 50, 10], 20, [[10], [50], [10]]],
        [[0, 0, 10, 0], 10, [[0, 0, 10, 0]]],
      ];
      for (const [queued, bytesMax, expected] of bounds) {
        it(`should make batches up to ${bytesMax} bytes of ${queued.join(", ")}`, async () => {
          await queue(
            await state.take(p),
            "shown",
            queued.map((size) => Buffer.alloc(size)),
          );
          const batches: Sizes[] = [];
          for (;;) {
            const batch = await state.seal("shown", bytesMax);
            if (batch === null) break;
            batches.push(batch.entries.map(({ value }) => value.length));
            await state.remove(batch);
          }
          expect(batches).to.eql(expected);
        });
      }

      itTogether("should let no partition wait for the end of another's queue", async () => {
        const [first, second] = [await state.take(p), await state.take(q)];
        await queue(first, "rest", ["a1", "a2", "a3", "a4"]);
        await queue(second, "rest", ["b1", "b2"]);
        const batch = await sealed(state, "rest", 6);
        expect(shown(batch)).to.eql([`${p}:a1`, `${p}:a2`, `${q}:b1`]);
      });

      it("should bound the entries of a batch, however small they are", async () => {
        await queue(
          await state.take(p),
          "rest",
          Array.from({ length: sealedEntriesMax + 1 }, () => ""),
        );
        const batch = await sealed(state, "rest", noLimit);
        expect(batch.entries).to.have.lengthOf(sealedEntriesMax);
        await state.remove(batch);
        expect((await state.seal("rest", noLimit))?.entries).to.have.lengthOf(1);
      });

      it("should give a batch unchanged until it is removed, then another", async () => {
        const owned = await state.take(p);
        await owned.commit(commitOf(1, {}, { rest: "a" }));
        const batch = await sealed(state, "rest", noLimit);
        expect(batch.token).to.match(/^[\w:-]+$/);
        expect(batch.isAgain).to.equal(false);
        await owned.commit(commitOf(2, {}, { rest: "b" }));
        expect(await state.seal("rest", noLimit)).to.eql({ ...batch, isAgain: true });
        await reopen();
        await state.take(p);
        expect(await state.seal("rest", 0)).to.eql({ ...batch, isAgain: true });
        await state.remove(batch);
        const next = await sealed(state, "rest", noLimit);
        expect(shown(next)).to.eql([`${p}:b`]);
        expect(next.token).not.to.equal(batch.token);
        expect(next.isAgain).to.equal(false);
      });

      it("should give two who ask at once the same batch", async () => {
        await queue(await state.take(p), "rest", ["a", "b", "c"]);
        const [one, other] = await Promise.all([state.seal("rest", 1), state.seal("rest", 3)]);
        expect(shown(one)).to.eql([`${p}:a`]);
        expect(one?.isAgain).to.equal(false);
        expect(other).to.eql({ ...one, isAgain: true });
      });

      it("should keep lanes apart", async () => {
        const owned = await state.take(p);
        await owned.commit(commitOf(1, {}, { rest: "r", shown: "s" }));
        const rest = await sealed(state, "rest", noLimit);
        const others = await sealed(state, "shown", noLimit);
        expect([shown(rest), shown(others)]).to.eql([[`${p}:r`], [`${p}:s`]]);
        await state.remove({ lane: "shown", token: rest.token });
        const again = { ...others, isAgain: true };
        expect(await state.seal("shown", noLimit)).to.eql(again);
        await state.remove(rest);
        expect(await state.seal("rest", noLimit)).to.equal(null);
        expect(await state.seal("shown", noLimit)).to.eql(again);
      });

      itTogether(
        "should give what a stalled owner sealed to its successor, all of it",
        async () => {
          const [first, second] = [await state.take(p), await state.take(q)];
          await queue(first, "rest", ["a", "b"]);
          await queue(second, "rest", ["c"]);
          const batch = await sealed(state, "rest", noLimit);
          const other = installation.beside(state);
          const successor = await other.take(p);
          await successor.commit(commitOf(9, {}, { rest: "d" }));
          expect(await other.seal("rest", 0)).to.eql({ ...batch, isAgain: true });
          expect(await state.seal("rest", noLimit)).to.eql({ ...batch, isAgain: true });
          await other.remove(batch);
          await state.remove(batch);
          expect(shown(await other.seal("rest", noLimit))).to.eql([`${p}:d`]);
        },
      );

      itTogether("should give a batch whole after a restart, to who has a part of it", async () => {
        await queue(await state.take(p), "rest", ["a"]);
        await queue(await state.take(q), "rest", ["b"]);
        const batch = await sealed(state, "rest", noLimit);
        expect(shown(batch)).to.eql([`${p}:a`, `${q}:b`]);
        await reopen();
        await state.take(q);
        expect(await state.seal("rest", noLimit)).to.eql({ ...batch, isAgain: true });
      });

      it("should remove a batch once, and nothing else", async () => {
        const owned = await state.take(p);
        await queue(owned, "rest", ["a", "b"]);
        const batch = await sealed(state, "rest", 1);
        await state.remove({ lane: "rest", token: "never-sealed" });
        expect(await state.seal("rest", 1)).to.eql({ ...batch, isAgain: true });
        await Promise.all([state.remove(batch), state.remove(batch)]);
        await state.remove(batch);
        const next = await sealed(state, "rest", 1);
        expect(shown(next)).to.eql([`${p}:b`]);
        await state.remove(batch);
        expect(await state.seal("rest", 1)).to.eql({ ...next, isAgain: true });
      });

      it("should give each entry once and in order while partitions go to and fro", async () => {
        const chance = new Chance(name);
        const all = [p, q, r];
        const lastOf = new Map<number, bigint>();
        for (const partition of all) {
          lastOf.set(partition, await (await state.take(partition)).commit(commitOf(1)));
        }
        const batches = new Map<string, readonly Queued[]>();
        const fresh = new Set<string>();
        let committed = 0;
        const see = ({ token, entries, isAgain }: SealedBatch): void => {
          if (!isAgain) {
            expect(fresh.has(token)).to.equal(false);
            fresh.add(token);
          }
          const seen = batches.get(token);
          if (seen !== undefined) return void expect(entries).to.eql(seen);
          batches.set(token, entries);
          for (const { partition, sequence } of entries) {
            expect(sequence).to.equal((lastOf.get(partition) ?? 0n) + 1n);
            lastOf.set(partition, sequence);
          }
        };
        const work = async (own: State): Promise<void> => {
          for (let round = 0; round < 40; round += 1) {
            const owned = await own.take(all[chance.whole(0, 2)] ?? p);
            for (let commits = chance.whole(0, 3); commits > 0; commits -= 1) {
              const outcome = await owned
                .commit(commitOf(2, {}, { rest: "entry" }))
                .catch((error: unknown) => error);
              if (typeof outcome === "bigint") committed += 1;
              else expect(outcome).to.be.instanceOf(Fenced);
            }
            const batch = await own.seal("rest", chance.whole(0, 50));
            if (batch === null) continue;
            see(batch);
            if (chance.happens(60)) await own.remove(batch);
          }
        };
        await Promise.all([state, ...all.map(() => installation.beside(state))].map(work));
        for (const partition of all) await state.take(partition);
        for (;;) {
          const batch = await state.seal("rest", noLimit);
          if (batch === null) break;
          // Now that it is alone. Before, another may have been given a batch, as one that may have
          // been written, and removed it, while who sealed it still waited for its entries.
          expect(batch.isAgain).to.equal(batches.has(batch.token));
          see(batch);
          await state.remove(batch);
        }
        expect([...batches.values()].flat()).to.have.lengthOf(committed);
        expect(await state.queuedBytes()).to.equal(0);
      });

      it("should count what is queued of the partitions taken", async () => {
        const [first, second] = [await state.take(p), await state.take(q)];
        expect(await state.queuedBytes()).to.equal(0);
        await first.commit(commitOf(1, { a: "not counted" }, { messages: "12", rest: "345" }));
        await second.commit(commitOf(1, {}, { shown: "6789" }));
        expect(await state.queuedBytes()).to.equal(9);
        await reopen();
        expect(await state.queuedBytes()).to.equal(0);
        await state.take(p);
        expect(await state.queuedBytes()).to.equal(5);
        await state.take(q);
        const batch = await sealed(state, "rest", noLimit);
        expect(await state.queuedBytes()).to.equal(9);
        await state.remove(batch);
        await state.remove(batch);
        expect(await state.queuedBytes()).to.equal(6);
      });
    });

    describe("as it is rebuilt", () => {
      it("should give all values of a partition in the order of the bytes of keys", async () => {
        const [owned, other] = [await state.take(p), await state.take(p + 1)];
        const keys = ["a", "B", "é", "a/1", "a-1", "\uffff", "😀", "\u0001", "ab"];
        for (let index = 0; index < 2_500; index += 1) keys.push(`many/${index}`);
        await owned.commit(commitOf(1, Object.fromEntries(keys.map((key) => [key, `of ${key}`]))));
        await other.commit(commitOf(1, { a: "another's" }));
        const expected = keys
          .toSorted((one, two) => Buffer.compare(Buffer.from(one), Buffer.from(two)))
          .map((key) => [key, `of ${key}`]);
        expect(await allOf(state, p)).to.eql(expected);
        expect(await allOf(state, p + 2)).to.eql([]);
      });

      it("should give large values, while others are committed", async () => {
        const owned = await state.take(p);
        const large = Object.fromEntries(
          [1, 2, 3].map((index) => [`large ${index}`, randomBytes(2.5 * mebibyte)]),
        );
        await owned.commit(commitOf(1, large));
        const found: [string, boolean][] = [];
        for await (const [key, value] of state.values(p)) {
          found.push([key, large[key]?.equals(value) === true]);
          await owned.commit(commitOf(2, { "a key before": key }));
        }
        expect(found).to.eql(Object.keys(large).map((key) => [key, true]));
      });

      it("should forget all, and fence who had partitions", async () => {
        const [first, second] = [await state.take(p), await state.take(q)];
        await first.commit(commitOf(5, { a: "1" }, { messages: "d", rest: "a", shown: "b" }));
        await second.commit(commitOf(6, { b: "1" }, { rest: "c" }));
        const batch = await sealed(state, "rest", noLimit);
        await state.clear();
        expect(await rejection(first.commit(commitOf(6)))).to.be.instanceOf(Fenced);
        const again = [await state.take(p), await state.take(q)];
        expect(again.map(({ offset }) => offset)).to.eql([0n, 0n]);
        expect([...(await allOf(state, p)), ...(await allOf(state, q))]).to.eql([]);
        expect(await again[0]?.unpublished()).to.eql([]);
        expect(await state.queuedBytes()).to.equal(0);
        for (const lane of rowLanes) {
          expect(await state.seal(lane, noLimit)).to.equal(null);
        }
        await again[0]?.commit(commitOf(1, {}, { rest: "anew" }));
        await state.remove(batch);
        const next = await sealed(state, "rest", noLimit);
        expect(shown(next)).to.eql([`${p}:anew`]);
        expect(next.token).not.to.equal(batch.token);
      });
    });
  });
}
