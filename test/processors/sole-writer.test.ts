import { expect } from "chai";
import type { LogRecord } from "../../log/log.js";
import { nameOf } from "../../processors/normalize/facts.js";
import { KeyFilter } from "../../processors/book/money/key-filter.js";
import { KnownKeys } from "../../processors/book/money/known-keys.js";
import { SoleWriter } from "../../processors/book/sole-writer.js";
import { StoredKeys } from "../../processors/book/money/stored-keys.js";
import { WriteBehind } from "../../processors/book/write-behind.js";
import { Pace } from "../../runtime/pace.js";
import { topics } from "../../schemas/records/records.js";
import { openTestClickHouse, testLogger } from "../harness/stores.js";
import { hasFailed, latch } from "../harness/promises.js";

/** Ends of the facts topic: what the sole writer asks of its log. */
function logWithEnds(...ends: bigint[]) {
  return { shared: false, ends: async () => ends };
}

function recordAt(offset: bigint, partition = 0): LogRecord {
  return { topic: topics.facts, partition, offset, key: "", value: Buffer.of() };
}

describe("The filter of keys", () => {
  it("should know every key it was given, and let few others pass", () => {
    const filter = new KeyFilter(50_000);
    for (let key = 0; key < 50_000; key += 1) filter.add(`known ${key}`);
    const passing = (kind: string): number =>
      Array.from({ length: 50_000 }, (_, key) => `${kind} ${key}`).filter((key) =>
        filter.mayHave(key),
      ).length;
    expect(passing("known")).to.equal(50_000);
    expect(passing("unknown")).to.be.lessThan(0.05 * 50_000);
  });

  it("should say when it is crowded", () => {
    const filter = new KeyFilter(1);
    expect(filter.crowded).to.equal(false);
    for (let key = 0; key < 2 ** 19; key += 1) filter.add("one");
    expect(filter.crowded).to.equal(false);
    filter.add("one more");
    expect(filter.crowded).to.equal(true);
  });
});

describe("The keys the money table may hold", () => {
  it("should be read whole, over several pages, with those added meanwhile", async function () {
    this.timeout(30_000);
    const clickhouse = await openTestClickHouse();
    const scope = { workspace: "ws_stored_keys", environment: "live", provider: "stripe" } as const;
    await clickhouse.write(
      `INSERT INTO money_facts (workspace, environment, provider, key, fact_id)
       SELECT '${scope.workspace}', 'live', 'stripe' AS provider,
              concat('payment:', toString(number % 4500)) AS key, toString(number)
       FROM numbers(9000)`,
    );
    const stored = new StoredKeys();
    expect(stored.mayHave("anything")).to.equal(true);
    const reading = stored.read(clickhouse, async () => stored.add("meanwhile"));
    // A second reading would take what is added for its own, and lose it when the first ends.
    expect(stored.wanted).to.equal(false);
    await reading;
    expect(stored.wanted).to.equal(false);
    expect(stored.mayHave("meanwhile")).to.equal(true);
    const missed = Array.from({ length: 4_500 }, (_, key) =>
      nameOf(scope, `payment:${key}`),
    ).filter((name) => !stored.mayHave(name));
    expect(missed).to.deep.equal([]);
    const others = Array.from({ length: 1_000 }, (_, key) => nameOf(scope, `payment:new${key}`));
    expect(others.filter((name) => stored.mayHave(name)).length).to.be.lessThan(50);
  });
});

describe("Keys known", () => {
  it("should forget the oldest written ones, and none on its way to the table", () => {
    const known = new KnownKeys();
    known.keep("unwritten", [], false);
    const written = known.writing();
    for (let key = 0; key < 7_000; key += 1) known.keep(`key ${key}`, [], true);
    expect(known.get("key 0")).to.equal(undefined);
    expect(known.get("key 6999")).to.deep.equal([]);
    expect(known.get("unwritten")).to.deep.equal([]);
    written();
    for (let key = 0; key < 7_000; key += 1) known.keep(`later ${key}`, [], true);
    expect(known.get("unwritten")).to.equal(undefined);
  });
});

describe("Rows that follow", () => {
  it("should be written together, and report all who added them when that fails", async () => {
    const written: string[][] = [];
    const behind = new WriteBehind<string>(
      async (rows) => {
        written.push([...rows]);
        if (rows.includes("bad")) throw new Error("the world fails");
      },
      new Pace({ shareMax: 1, restMsMax: 0 }),
    );
    await Promise.all([behind.add("a"), behind.add("b")]);
    const results = await Promise.allSettled([behind.add("c"), behind.add("bad")]);
    await behind.add("d");
    expect(written).to.deep.equal([["a", "b"], ["c", "bad"], ["d"]]);
    expect(results.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
  });
});

describe("A sole writer", () => {
  async function open(follow: (rows: readonly string[]) => Promise<void>) {
    // The tests may run on a server; none of theirs is written by another.
    const clickhouse = { ...(await openTestClickHouse()), isShared: false };
    const log = logWithEnds(5n, 0n, 0n);
    const writer = await SoleWriter.over<string>({ clickhouse, log, logger: testLogger }, follow);
    if (writer === null) throw new Error("neither is shared");
    const ways: string[] = [];
    const run = (name: string, record: LogRecord, alone: () => Promise<void>) =>
      writer.run(
        [record],
        async () => {
          ways.push(`${name} alone`);
          await alone();
          return name;
        },
        async () => void ways.push(`${name} careful`),
      );
    const book = (offset: bigint, fails = false) =>
      run(String(offset), recordAt(offset), async () => {
        if (fails) throw new Error("the world fails");
      });
    /** The first of a partition. */
    const bookFirst = (partition: number, alone: () => Promise<void>) =>
      run(`partition ${partition}`, recordAt(0n, partition), alone);
    return { ways, book, bookFirst };
  }

  it("should not be, where others may write to the log or to the tables", async () => {
    const clickhouse = await openTestClickHouse();
    const shared: [log: boolean, tables: boolean][] = [
      [true, false],
      [false, true],
    ];
    for (const [log, tables] of shared) {
      const writer = await SoleWriter.over(
        {
          clickhouse: { ...clickhouse, isShared: tables },
          log: { ...logWithEnds(), shared: log },
          logger: testLogger,
        },
        async () => {},
      );
      expect(writer).to.equal(null);
    }
  });

  it("should be careful with what was on the topic when it started", async () => {
    const { ways, book } = await open(async () => {});
    for (const offset of [4n, 5n, 6n]) await (await book(offset)).finished;
    expect(ways).to.deep.equal(["4 careful", "5 alone", "6 alone"]);
  });

  it("should be careful with a batch that failed, and with those after it", async () => {
    const { ways, book } = await open(async () => {});
    const failed = await hasFailed(book(5n, true));
    await book(5n);
    await book(6n);
    expect(failed).to.equal(true);
    expect(ways).to.deep.equal(["5 alone", "5 careful", "6 alone"]);
  });

  it("should be careful with every batch whose rows could not follow", async () => {
    let fails = true;
    const { ways, book } = await open(async () => {
      if (fails) throw new Error("the world fails");
    });
    const booked = [await book(5n), await book(6n)];
    const finished = await Promise.allSettled(booked.map((one) => one.finished));
    expect(finished.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    fails = false;
    for (const offset of [5n, 6n, 7n]) await (await book(offset)).finished;
    expect(ways.slice(2)).to.deep.equal(["5 careful", "6 careful", "7 alone"]);
  });

  it("should refuse what follows a batch whose rows could not, until that came again", async () => {
    let fails = true;
    const { ways, book } = await open(async () => {
      if (fails) throw new Error("the world fails");
    });
    expect(await hasFailed((await book(5n)).finished)).to.equal(true);
    fails = false;
    // The consumer had it in hand before it knew of the failure.
    expect(await hasFailed(book(6n))).to.equal(true);
    for (const offset of [5n, 6n]) await (await book(offset)).finished;
    expect(ways).to.deep.equal(["5 alone", "5 careful", "6 alone"]);
  });

  it("should not look past rows on their way when a batch of another partition fails", async () => {
    const { ways, book, bookFirst } = await open(async (rows) => void ways.push(...rows));
    await book(5n);
    const failing = bookFirst(1, () => Promise.reject(new Error("the world fails")));
    await Promise.allSettled([failing, bookFirst(2, async () => {})]);
    expect(ways).to.deep.equal(["5 alone", "partition 1 alone", "5", "partition 2 alone"]);
  });

  it("should give a batch again during which rows before it could not follow", async () => {
    const [failed, fail] = latch();
    const { ways, book, bookFirst } = await open(async () => {
      fail();
      throw new Error("the world fails");
    });
    const { finished } = await book(5n);
    const beside = bookFirst(1, async () => {
      await failed;
      await finished.catch(() => undefined);
    });
    const [result] = await Promise.allSettled([beside]);
    expect(result.status).to.equal("rejected");
    await bookFirst(1, async () => {});
    expect(ways).to.deep.equal(["5 alone", "partition 1 alone", "partition 1 careful"]);
  });

  it("should not let the rows follow of what came after such a batch", async () => {
    const written: string[][] = [];
    const [gone, go] = latch();
    const [begun, begin] = latch();
    const { book } = await open(async (rows) => {
      written.push([...rows]);
      begin();
      await gone;
      throw new Error("the world fails");
    });
    const before = await book(5n);
    await begun;
    const after = await book(6n);
    go();
    const finished = await Promise.allSettled([before.finished, after.finished]);
    expect(finished.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect(written).to.deep.equal([["5"]]);
  });
});
