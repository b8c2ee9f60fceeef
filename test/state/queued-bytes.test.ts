import { expect } from "chai";
import { QueuedBytes } from "../../stores/state/queued-bytes.js";
import { latch, rejection } from "../harness/promises.js";

/** A server that answers when it is let, and how often it was asked. */
class Server {
  asked = 0;
  #answers: (() => number | Promise<number>)[] = [];

  /** The next to be asked for is this; by itself it is 0. */
  next(answer: () => number | Promise<number>): void {
    this.#answers.push(answer);
  }

  async ask(): Promise<number> {
    this.asked += 1;
    return (await this.#answers.shift()?.()) ?? 0;
  }
}

describe("The count of queued bytes", () => {
  let server: Server;
  let count: QueuedBytes;
  beforeEach(() => {
    server = new Server();
    count = new QueuedBytes(() => server.ask());
  });

  /** What a commit or a removal changes, at once or after a while. */
  function change(queuedBytes: number, removedBytes: number, after?: Promise<void>) {
    return count.during(async () => {
      await after;
      return { queuedBytes, removedBytes };
    });
  }

  it("should ask once and go on from there", async () => {
    server.next(() => 100);
    expect(await count.now()).to.equal(100);
    await change(10, 0);
    await change(5, 30);
    expect(await count.now()).to.equal(85);
    expect(server.asked).to.equal(1);
  });

  it("should ask once for all who want to know at once", async () => {
    server.next(() => 100);
    expect(await Promise.all([count.now(), count.now()])).to.eql([100, 100]);
    expect(server.asked).to.equal(1);
  });

  it("should not take off again what was being removed as it asked", async () => {
    const [removed, remove] = latch();
    const removal = change(0, 30, removed);
    server.next(() => 70);
    expect(await count.now()).to.equal(70);
    remove();
    await removal;
    expect(await count.now()).to.equal(70);
  });

  it("should not take off again what is removed before the answer comes", async () => {
    const [answered, answer] = latch();
    server.next(async () => {
      await answered;
      return 70;
    });
    const asked = count.now();
    await change(0, 30);
    answer();
    expect(await asked).to.equal(70);
    await change(0, 10);
    expect(await count.now()).to.equal(60);
  });

  it("should count what is queued while it asks, which the answer may not know of", async () => {
    const [queued, queue] = latch();
    const [answered, answer] = latch();
    const commit = change(10, 0, queued);
    server.next(async () => {
      await answered;
      return 100;
    });
    const asked = count.now();
    queue();
    await commit;
    answer();
    expect(await asked).to.equal(110);
  });

  it("should ask anew after a failure, and after it was told to", async () => {
    await count.now();
    const failure = new Error("no answer");
    const failed = count.during(async () => {
      throw failure;
    });
    expect(await rejection(failed)).to.equal(failure);
    server.next(() => 40);
    expect(await count.now()).to.equal(40);
    count.forget();
    server.next(() => Promise.reject(failure));
    expect(await rejection(count.now())).to.equal(failure);
    server.next(() => 50);
    expect(await count.now()).to.equal(50);
    expect(server.asked).to.equal(4);
  });
});
