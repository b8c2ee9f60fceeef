import { expect } from "chai";
import { limits } from "../../config.js";
import { isOver, nextTry, pauseMs } from "../../workspaces/webhooks/outcomes.js";

const now = new Date("2026-11-28T12:00:00Z");

describe("Retries of webhooks", () => {
  it("should come after growing pauses, spread over three days", () => {
    const pauses = [];
    for (let ms = 0; ms < limits.webhookRetriesForMs; ms += pauses.at(-1) ?? 0) {
      pauses.push(pauseMs(pauses.length + 1));
    }
    const seconds = pauses.map((ms) => ms / 1_000);
    expect(seconds.slice(0, 8)).to.deep.equal([5, 20, 80, 320, 1280, 5120, 20480, 28800]);
    expect(seconds).to.have.length(16);
    expect(pauseMs(1_000)).to.equal(limits.webhookRetryMsMax);
  });

  it("should wait as long as the receiver asks, but not for ever", () => {
    const after = (failures: number, asked: number | null) =>
      nextTry(failures, asked, now).getTime() - now.getTime();
    expect(after(1, null)).to.equal(5_000);
    expect(after(1, 60_000)).to.equal(60_000);
    expect(after(3, 1_000)).to.equal(80_000);
    expect(after(1, 10 ** 12)).to.equal(limits.webhookRetryMsMax);
  });

  it("should end after three days", () => {
    const ago = (ms: number) => new Date(now.getTime() - ms);
    expect(isOver(ago(limits.webhookRetriesForMs - 1), now)).to.equal(false);
    expect(isOver(ago(limits.webhookRetriesForMs), now)).to.equal(true);
  });
});
