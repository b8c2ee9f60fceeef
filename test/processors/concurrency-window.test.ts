import { expect } from "chai";
import type { LogRecord } from "../../stores/log/log.js";
import { ConcurrencyWindow } from "../../processors/consumers.js";
import { topics } from "../../schemas/records/records.js";

function recordsOf(...sizes: readonly number[]): LogRecord[] {
  return sizes.map((bytes, index) => ({
    topic: topics.incomplete,
    partition: 0,
    offset: BigInt(index),
    key: "k",
    value: Buffer.alloc(bytes),
  }));
}

describe("ConcurrencyWindow batches", () => {
  for (const [what, max] of [
    ["records", { records: 3, bytes: 1_000 }],
    ["bytes", { records: 1_000, bytes: 30 }],
  ] as const) {
    it(`should begin while ${what} are few, and then when one has ended`, async () => {
      const overlapping = new ConcurrencyWindow(max);
      const begun: number[] = [];
      const ends: (() => void)[] = [];
      const begin = (batch: number) =>
        overlapping.begin(recordsOf(10, 10), () => {
          begun.push(batch);
          return new Promise<void>((end) => ends.push(end));
        });
      await begin(1);
      await begin(2);
      const third = begin(3);
      await new Promise(setImmediate);
      expect(begun).to.deep.equal([1, 2]);
      ends[1]?.();
      await third;
      expect(begun).to.deep.equal([1, 2, 3]);
    });
  }

  it("should report a failure and make room all the same", async () => {
    const overlapping = new ConcurrencyWindow({ records: 1, bytes: 1 });
    const failed = await overlapping.begin(recordsOf(10), () => Promise.reject(new Error("away")));
    const error: unknown = await failed.finished.catch((reason: unknown) => reason);
    expect(error).to.have.property("message", "away");
    const next = await overlapping.begin(recordsOf(10), () => Promise.resolve());
    await next.finished;
  });
});
