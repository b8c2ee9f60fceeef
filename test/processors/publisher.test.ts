/** What becomes of messages that the log does not take. */
import { expect } from "chai";
import { Publisher, type Message } from "../../processors/book/booked.js";
import { topics } from "../../schemas/records/records.js";
import { logRecordBytesMax } from "../../stores/log/log.js";
import { openTestLog, testLogger } from "../harness/stores.js";
import { Fault, faultyLog } from "../pipeline/faults.js";

describe("A message that the log does not take", () => {
  const message = (key: string, bytes = 1): Message => {
    return { topic: topics.transactions, key, value: Buffer.alloc(bytes) };
  };

  /** @returns the keys of those that are on the log, and of those given up */
  async function publish(messages: readonly Message[], fault: Fault) {
    const log = openTestLog(`publisher-${fault.plan?.kind ?? "whole"}`);
    const givenUp: string[] = [];
    const publisher = new Publisher(
      faultyLog(log, (work) => fault.around(work)),
      testLogger,
      async ({ key }) => void givenUp.push(key),
    );
    await publisher.publish(7n, messages).now;
    await publisher.settled();
    expect(publisher.published).to.equal(7n);
    const records = await log.read(topics.transactions, 0, 0n, 10);
    return { published: records.map(({ key }) => key), givenUp };
  }

  for (const [kind, published] of [
    ["failure before", ["only"]],
    // It may have taken it: then it comes twice.
    ["failure after", ["only", "only"]],
  ] as const) {
    it(`should be sent again, alone as it is: ${kind} the call`, async () => {
      const fault = new Fault({ kind, call: 0, wakes: "soon" });
      expect(await publish([message("only")], fault)).to.eql({ published, givenUp: [] });
    });
  }

  it("should be given up when it is to blame itself, and no other with it", async () => {
    const messages = [message("before"), message("large", logRecordBytesMax), message("after")];
    expect(await publish(messages, new Fault(null))).to.eql({
      published: ["before", "after"],
      givenUp: ["large"],
    });
  });
});
