import { expect } from "chai";
import type { LogRecord } from "../../stores/log/log.js";
import { limits } from "../../config.js";
import { coalesced } from "../../processors/batch-coalescer.js";
import { topics } from "../../schemas/records/records.js";

describe("Batches of several partitions", () => {
  const batch = (partition: number, count: number, bytes = 1): LogRecord[] =>
    Array.from({ length: count }, (_, offset) => ({
      topic: topics.facts,
      partition,
      offset: BigInt(offset),
      key: "k",
      value: Buffer.alloc(bytes),
    }));

  /** Handles when reported to; remembers which partitions it was given records of. */
  function openHandler(recordsMax = 100) {
    const given: number[][] = [];
    const ends: ((failure?: Error) => void)[] = [];
    const handle = coalesced({ recordsMax, shareMax: 1 }, (records) => {
      given.push(records.map(({ partition }) => partition));
      return new Promise<void>((resolve, reject) =>
        ends.push((failure) => (failure ? reject(failure) : resolve())),
      );
    });
    const end = async (failure?: Error): Promise<void> => {
      while (ends.length === 0) await new Promise(setImmediate);
      ends.shift()?.(failure);
    };
    return { given, handle, end };
  }

  it("should gather while another is handled, and then be handled as one", async () => {
    const { given, handle, end } = openHandler();
    const reported = [handle(batch(0, 1)), handle(batch(1, 2)), handle(batch(2, 1))];
    await end();
    await end();
    await Promise.all(reported);
    expect(given).to.deep.equal([[0], [1, 1, 2]]);
  });

  it("should all come again when what they were handled in fails, and no others", async () => {
    const { given, handle, end } = openHandler();
    const first = handle(batch(0, 1));
    const others = Promise.allSettled([handle(batch(1, 1)), handle(batch(2, 1))]);
    await end();
    await first;
    await end(new Error("the store is away"));
    expect((await others).map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    const again = handle(batch(1, 1));
    await end();
    await again;
    expect(given).to.deep.equal([[0], [1, 2], [1]]);
  });

  it("should be handled while what the one before left is finished, and no further", async () => {
    const given: number[] = [];
    const finish: (() => void)[] = [];
    const handle = coalesced({ recordsMax: 1, shareMax: 1 }, async ([record]) => {
      given.push(record?.partition ?? -1);
      return { finished: new Promise<void>((resolve) => finish.push(resolve)) };
    });
    const reported = [0, 1, 2].map((partition) => handle(batch(partition, 1)));
    await Promise.all(reported.slice(0, 2));
    for (let turns = 0; turns < 100; turns += 1) await new Promise(setImmediate);
    expect(given).to.deep.equal([0, 1]);
    finish[0]?.();
    const left = await reported[2];
    expect(given).to.deep.equal([0, 1, 2]);
    finish[2]?.();
    await left?.finished;
  });

  const crowds: [title: string, records: LogRecord[][], given: number[][]][] = [
    ["records", [batch(1, 60), batch(2, 40), batch(3, 1)], [[0], [1, 2], [3]]],
    ["bytes", [batch(1, 1, limits.consumedBytesMax), batch(2, 1)], [[0], [1], [2]]],
  ];
  for (const [title, records, expected] of crowds) {
    it(`should be no more ${title} at a time than there may be`, async () => {
      const { given, handle, end } = openHandler();
      const reported = [handle(batch(0, 1)), ...records.map((one) => handle(one))];
      for (let times = 0; times < expected.length; times += 1) await end();
      await Promise.all(reported);
      expect(given.map((partitions) => [...new Set(partitions)])).to.deep.equal(expected);
    });
  }
});
