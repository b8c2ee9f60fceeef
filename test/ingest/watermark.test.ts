import { expect } from "chai";
import type { ReadableLog } from "../../stores/watermark/backlog.js";
import { LocalReceipts, settledAfter } from "../../stores/watermark/in-flight-receipts.js";
import {
  type RawEvent,
  type Topic,
  incompleteRecords,
  rawEventCodec,
  topics,
} from "../../schemas/records/records.js";
import {
  AppendUncertain,
  type LogRecord,
  LogUnavailable,
  kafkaLateMsMax,
} from "../../stores/log/log.js";
import { groups, Watermark } from "../../stores/watermark/watermark.js";
import { factOf, metaOf, recordsOf } from "../harness/facts.js";

function rawEvent(workspace: string, receivedAt: number): Buffer {
  const raw: RawEvent = {
    meta: metaOf({ workspace, received_at: receivedAt }),
    sealed: Buffer.alloc(0),
  };
  return rawEventCodec.encode(raw);
}

/** Records of one topic, of which the groups that follow it have handled the first. */
class OnTopic implements ReadableLog {
  handledSoFar = 0;
  constructor(
    readonly topic: Topic,
    readonly records: readonly LogRecord[],
  ) {}

  async committed(topic: Topic): Promise<bigint[]> {
    return [topic === this.topic ? BigInt(this.handledSoFar) : 0n];
  }
  async handled(topic: Topic): Promise<bigint[]> {
    return this.committed(topic);
  }
  async ends(topic: Topic): Promise<bigint[]> {
    return [topic === this.topic ? BigInt(this.records.length) : 0n];
  }
  async read(_topic: Topic, _partition: number, from: bigint, most: number): Promise<LogRecord[]> {
    return this.records.slice(Number(from), Number(from) + most);
  }
}

/** Raw events, received at the times given. */
function received(...times: readonly number[]): OnTopic {
  const records = times.map((receivedAt, index) =>
    recordOf(topics.raw, index, rawEvent("w", receivedAt)),
  );
  return new OnTopic(topics.raw, records);
}

function recordOf(topic: Topic, index: number, value: Buffer): LogRecord {
  return { topic, partition: 0, offset: BigInt(index), key: "k", value };
}

/** Events that wait for a provider's API, of the workspaces and times given. */
function asking(...waiting: readonly (readonly [workspace: string, receivedAt: number])[]) {
  const records = waiting.map(([workspace, receivedAt], index) => {
    const place = { partition: 0, offset: 0n, received_at: receivedAt };
    const raw = rawEvent(workspace, receivedAt);
    const value = incompleteRecords.encode({ step: "complete", ...place, raw });
    return recordOf(topics.incomplete, index, value);
  });
  return new OnTopic(topics.incomplete, records);
}

const named = { Sku: { external_id: "prod_a", name: "Atlas" } };

describe("complete_to", () => {
  const now = () => 1_000_000;

  it("should be just before now when nothing waits", async () => {
    expect(await new Watermark(received(), now).completeTo()).to.equal(999_999);
  });

  it("should stay before a call at the endpoint until it is settled", async () => {
    const watermark = new Watermark(received(), now);
    const receipt = watermark.receive();
    expect(await watermark.completeTo()).to.equal(receipt.receivedAt - 1);
    receipt.settle();
    expect(await watermark.completeTo()).to.equal(999_999);
  });

  it("should stay before a call of the same workspace, not before those of others", async () => {
    let time = now();
    const watermark = new Watermark(received(), () => time);
    const receipt = watermark.receive("importing");
    time += 5_000;
    expect(await watermark.completeTo("all", "importing")).to.equal(999_999);
    expect(await watermark.completeTo("all", "another")).to.equal(time - 1);
    expect(await watermark.completeTo()).to.equal(999_999);
    // What was reported of another does not let a later call of this one be earlier.
    expect(watermark.receive("importing").receivedAt).to.be.at.least(time);
    receipt.settle();
    expect(await watermark.completeTo("all", "importing")).to.equal(time - 1);
  });

  it("should stamp later calls after what it has reported", async () => {
    const watermark = new Watermark(received(), now);
    const reported = await watermark.completeTo();
    expect(watermark.receive().receivedAt).to.be.greaterThan(reported);
  });

  it("should stay before the earliest of the waiting records, however they lie", async () => {
    const log = received(500, 300, 400, 600);
    const watermark = new Watermark(log, now);
    const reported: number[] = [];
    for (; log.handledSoFar <= log.records.length; log.handledSoFar += 1) {
      reported.push(await watermark.completeTo());
    }
    expect(reported).to.deep.equal([299, 299, 399, 599, 999_999]);
  });

  it("should stamp calls after what is being reported, though the clock is set back", async () => {
    let time = now();
    const watermark = new Watermark(received(), () => time);
    const telling = watermark.completeTo();
    time -= 10_000;
    const { receivedAt } = watermark.receive();
    expect(receivedAt).to.be.greaterThan(await telling);
  });

  it("should never go back, even when a group is set back", async () => {
    const log = received(500);
    const watermark = new Watermark(log, now);
    log.handledSoFar = 1;
    expect(await watermark.completeTo()).to.equal(999_999);
    log.handledSoFar = 0;
    expect(await watermark.completeTo()).to.equal(999_999);
  });

  it("should see through a backlog longer than one reading", async () => {
    const times = Array.from({ length: 2_500 }, (_, index) => 10_000 + index);
    times[2_400] = 7;
    const log = received(...times);
    const watermark = new Watermark(log, now);
    expect(await watermark.completeTo()).to.equal(6);
    log.handledSoFar = 2_401;
    expect(await watermark.completeTo()).to.equal(10_000 + 2_401 - 1);
  });

  it("should hold up a workspace by its own raw events only, such as a large import", async () => {
    const watermark = new Watermark(received(300, 400), now);
    expect(await watermark.completeTo("all", "w")).to.equal(299);
    expect(await watermark.completeTo("all", "elsewhere")).to.equal(999_999);
    expect(await watermark.completeTo()).to.equal(299);
  });

  it("should hold up a workspace by its own questions to a provider's API only", async () => {
    const log = asking(["asks", 300], ["asks too", 400], ["asks", 200]);
    const watermark = new Watermark(log, now);
    const reported = async () => [
      await watermark.completeTo("all", "asks"),
      await watermark.completeTo("all", "asks too"),
      await watermark.completeTo("all", "asks nothing"),
      await watermark.completeTo("all"),
    ];
    expect(await reported()).to.deep.equal([199, 399, 999_999, 199]);
    log.handledSoFar = 2;
    expect(await reported()).to.deep.equal([199, 999_999, 999_999, 199]);
    log.handledSoFar = 3;
    expect(await reported()).to.deep.equal([999_999, 999_999, 999_999, 999_999]);
  });

  it("should wait for the journal only where somebody asks by what a figure came", async () => {
    const topic = received(500);
    const behind: ReadableLog = {
      committed: async (_topic, group) => [group === groups.journal ? 0n : 1n],
      handled: async () => [1n],
      ends: (of) => topic.ends(of),
      read: (of, partition, from, most) => topic.read(of, partition, from, most),
    };
    const watermark = new Watermark(behind, now);
    expect(await watermark.completeTo("journaled")).to.equal(499);
    expect(await watermark.completeTo("all")).to.equal(999_999);
  });

  it("should say that somebody asked for what is not complete yet", async () => {
    const log = new OnTopic(topics.facts, recordsOf([factOf(named, { received_at: 300 })]));
    const watermark = new Watermark(log, now);
    const asked: string[] = [];
    watermark.onBehind((figures) => asked.push(figures));
    await watermark.completeTo("transactions");
    log.handledSoFar = 1;
    await watermark.completeTo("all");
    expect(asked).to.eql(["transactions"]);
  });

  it("should hold up nobody else by facts received long ago", async () => {
    const facts = [
      factOf(named, { workspace: "asked", received_at: 300 }),
      factOf(named, { workspace: "swift", received_at: 999_000 }),
    ];
    const log = new OnTopic(topics.facts, recordsOf(facts));
    const reported = async (whom?: string) => {
      const watermark = new Watermark(log, now);
      const shown = await watermark.completeTo("transactions", whom);
      return [shown, await watermark.completeTo("all", whom)];
    };
    expect(await reported("swift")).to.deep.equal([998_999, 998_999]);
    expect(await reported("elsewhere")).to.deep.equal([999_999, 999_999]);
    expect(await reported("asked")).to.deep.equal([299, 299]);
    expect(await reported()).to.deep.equal([299, 299]);
  });

  it("should stamp calls after what any workspace was reported", async () => {
    const watermark = new Watermark(asking(["asks", 300]), now);
    const reported = await watermark.completeTo("all", "asks nothing");
    expect(watermark.receive().receivedAt).to.be.greaterThan(reported);
  });

  const stored = Promise.resolve();
  const neverKnown = (): Promise<void> => new Promise(() => undefined);
  for (const [what, error, waits] of [
    ["was sent and refused", new AppendUncertain("no answer", { stored: neverKnown() }), true],
    ["was sent, refused and stored", new AppendUncertain("no answer", { stored }), false],
    ["was never sent", new LogUnavailable("no broker"), false],
    ["was wrong", new Error("no event"), false],
  ] as const) {
    const until = waits ? "stay before it until its record can no longer follow" : "pass it";
    it(`should ${until}, of a call that ${what}`, async () => {
      let clock = 1_000_000;
      let elapsed = 500;
      const endpoints = new LocalReceipts(
        () => clock,
        undefined,
        () => elapsed,
      );
      const watermark = new Watermark(received(), () => clock, endpoints);
      const receipt = watermark.receive();
      const thrown = await settledAfter(receipt, () => Promise.reject(error)).catch(
        (caught: unknown) => caught,
      );
      expect(thrown).to.equal(error);
      expect(watermark.callsInFlight, "calls being taken").to.equal(0);
      const reported: number[] = [];
      for (const laterMs of [kafkaLateMsMax - 1, 1_000]) {
        clock += laterMs;
        elapsed += laterMs;
        reported.push((await watermark.completeTo()) - receipt.receivedAt);
      }
      const end = kafkaLateMsMax + 998;
      expect(reported).to.eql([waits ? -1 : kafkaLateMsMax - 2, end]);
    });
  }

  it("should count the earliest of the calls whose records may follow", async () => {
    let [clock, elapsed] = [1_000_000, 0];
    const endpoints = new LocalReceipts(
      () => clock,
      undefined,
      () => elapsed,
    );
    const [early, late] = [endpoints.receive(0), endpoints.receive(1_000_001)];
    late.settleLater(neverKnown());
    elapsed += 2_000;
    early.settleLater(neverKnown());
    early.settle();
    clock += kafkaLateMsMax;
    elapsed = kafkaLateMsMax + 1_000;
    expect([await endpoints.earliest(), endpoints.lateMs]).to.eql([early.receivedAt, 1_000]);
    elapsed += 1_000;
    expect([await endpoints.earliest(), endpoints.lateMs]).to.eql([clock, 0]);
  });
});
