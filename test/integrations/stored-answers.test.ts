import { expect } from "chai";
import {
  forgetAnswers,
  type KeptAnswers,
  openStoredAnswers,
} from "../../providers/api/stored-answers.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
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
    const stored = openStoredAnswers(postgres, openVault("ab".repeat(32)));
    for (let at = 1; at <= 9; at += 1) {
      const event = { workspace, event_id: "evt_1", received_at: at };
      const kept = { ...reported, answeredAt: at };
      await stored.keep(event, "complete", kept);
    }
    expect(await forgetAnswers(postgres, 8, 2)).to.equal(7);
    const left = await postgres.query<{ received_at: bigint }>(
      "SELECT received_at FROM kept_answers WHERE workspace = $1 ORDER BY received_at",
      [workspace],
    );
    expect(left.map(({ received_at: at }) => at)).to.deep.equal([8n, 9n]);
    await postgres.query("DELETE FROM kept_answers WHERE workspace = $1", [workspace]);
  });

  it("should be kept and read for a batch of events by few statements", async () => {
    const postgres = await openTestPostgres();
    const given = { name: "Batch", base_currency: "EUR" } as const;
    const { id: workspace } = await createWorkspace(postgres, given, new Date());
    let statements = 0;
    const counting: Postgres = {
      ...postgres,
      query: (sql, values) => {
        statements += 1;
        return postgres.query(sql, values);
      },
      transaction: (run) => {
        statements += 1;
        return postgres.transaction(run);
      },
    };
    const stored = openStoredAnswers(counting, openVault("ab".repeat(32)));
    const events = Array.from({ length: 40 }, (_, index) => ({
      workspace,
      event_id: `evt_${index}`,
      received_at: 10,
    }));
    const answersTo = (index: number, concluded = true): KeptAnswers => ({
      answers: new Map([["/v1/one", `{"of":${index}}`]]),
      trouble: concluded ? null : "it was down",
      refusal: null,
      answeredAt: 100 + index,
      concluded,
      published: false,
    });
    await Promise.all(
      events.map((event, index) => stored.keep(event, "enrich", answersTo(index, index > 0))),
    );
    await Promise.all(events.slice(0, 20).map((event) => stored.markPublished(event, "enrich")));
    expect(statements).to.equal(2);

    const read = await Promise.all(events.map((event) => stored.recall(event, "enrich")));
    expect(read).to.deep.equal(
      events.map((_, index) => ({
        ...answersTo(index, index > 0),
        published: index < 20,
      })),
    );
    const again = (index: number) => ({ ...events[index]!, received_at: 11 });
    const [failed, concluded, otherStep, unknown] = await Promise.all([
      stored.recall(again(0), "enrich"),
      stored.recall(again(1), "enrich"),
      stored.recall(again(1), "complete"),
      stored.recall({ workspace, event_id: "evt_none", received_at: 11 }, "enrich"),
    ]);
    expect(failed, "a redelivery asks anew what could not be answered").to.equal(null);
    expect(concluded).to.deep.equal({ ...answersTo(1), published: true });
    expect([otherStep, unknown]).to.deep.equal([null, null]);

    // A batch that is tried again may keep an event twice at once; its time is then the later one.
    await Promise.all(
      [101, 102].map((answeredAt) =>
        stored.keep(events[30]!, "enrich", { ...answersTo(30), answeredAt }),
      ),
    );
    expect((await stored.recall(events[30]!, "enrich"))?.answeredAt).to.equal(102);
    await stored.keep(events[1]!, "enrich", { ...answersTo(1), answeredAt: 999 });
    expect((await stored.recall(events[1]!, "enrich"))?.answeredAt, "published").to.equal(101);
    await postgres.query("DELETE FROM kept_answers WHERE workspace = $1", [workspace]);
  });
});
