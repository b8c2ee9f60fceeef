/** What an operator is reported before something is lost, and while something is away. */
import { expect } from "chai";
import { createMetrics } from "../../runtime/metrics.js";
import { readConfig } from "../../config.js";
import { warnWhenBehind } from "../../processors/consumers.js";
import { testLogger } from "../harness/stores.js";

const dayMs = 24 * 60 * 60 * 1000;

describe("An operator", () => {
  const behind: [days: number, settings: Record<string, string>, reported: object[]][] = [
    [3, {}, []],
    [4, {}, [{ behindDays: 4, retentionDays: 7 }]],
    [4, { FACTS_RETENTION_DAYS: "14", RAW_RETENTION_DAYS: "30" }, []],
    [4, { RAW_RETENTION_DAYS: "5" }, [{ behindDays: 4, retentionDays: 5 }]],
  ];
  for (const [days, settings, expected] of behind) {
    const reported = expected.length === 0 ? "not be reported" : "be reported";
    const given = JSON.stringify(settings);
    it(`should ${reported} that booking is ${days} days behind, with ${given}`, async () => {
      const lines: object[] = [];
      const logger = { ...testLogger, error: (line: object) => void lines.push(line) };
      const now = Date.now();
      const watermark = { completeTo: async () => now - days * dayMs };
      await warnWhenBehind({ config: readConfig(settings), logger, watermark }, now);
      expect(lines).to.deep.equal(expected);
    });
  }

  it("should be shown what can be asked while something cannot", async () => {
    const metrics = createMetrics();
    let isAway = false;
    metrics.gauge("lag", "Records", "group", async () => {
      if (isAway) throw new Error("the log is away");
      return { money: 7 };
    });
    metrics.gauge("age", "Days", "source", async () => ({ ecb: 1 }));
    expect(await metrics.registry.metrics()).to.match(/^revenue_lag\{group="money"\} 7$/m);
    isAway = true;
    expect(await metrics.registry.metrics())
      .to.match(/^revenue_age\{source="ecb"\} 1$/m)
      .and.not.match(/^revenue_lag\{/m);
  });
});
