import { expect } from "chai";
import { forgetAnswers, keepAnswers } from "../../providers/api/stored-answers.js";
import { openVault } from "../../stores/vault/vault.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import { openTestPostgres } from "../harness/stores.js";

describe("Kept answers", () => {
  it("should be forgotten with their raw events, however many are of before then", async () => {
    const postgres = await openTestPostgres();
    const given = { name: "Kept", base_currency: "EUR" } as const;
    const { id: workspace } = await createWorkspace(postgres, given, new Date());
    const reported = {
      answers: new Map(),
      trouble: null,
      refusal: null,
      concluded: true,
      published: true,
    };
    for (let at = 1; at <= 9; at += 1) {
      const event = { workspace, event_id: "evt_1", received_at: at };
      const kept = { ...reported, answeredAt: at };
      await keepAnswers(postgres, openVault("ab".repeat(32)), event, "complete", kept);
    }
    expect(await forgetAnswers(postgres, 8, 2)).to.equal(7);
    const left = await postgres.query<{ received_at: bigint }>(
      "SELECT received_at FROM kept_answers WHERE workspace = $1 ORDER BY received_at",
      [workspace],
    );
    expect(left.map(({ received_at: at }) => at)).to.deep.equal([8n, 9n]);
    await postgres.query("DELETE FROM kept_answers WHERE workspace = $1", [workspace]);
  });
});
