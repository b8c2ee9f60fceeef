/** How each month is known, and how far a reading has come: pure, as tables. */
import { expect } from "chai";
import { progressOf } from "../../workspaces/backfill-progress.js";
import { coverageMonths } from "../../workspaces/coverage.js";
import { cell, momentOf, rowsOf } from "../model/tables/table.js";

describe("The months of an integration", () => {
  const now = momentOf("2026-05-20");
  const cases = rowsOf(`
    what                            | since      | webhooks   | read                     | months
    have nothing yet                | 2026-05-02 | -          | -                        | 05 none
    have no whole month of webhooks | 2026-04-02 | 2026-04-03 | -                        | 04 none 05 webhook
    begin with a month of webhooks  | 2026-04-01 | 2026-04-01 | -                        | 04 webhook 05 webhook
    wait for the first webhook      | 2026-03-02 | 2026-05-03 | -                        | 03 none 04 none 05 none
    were read before                | 2026-04-02 | 2026-04-03 | 2026-02-01 to 2026-04-03 | 02 api 03 api 04 api 05 webhook
    were read a day too early       | 2026-04-02 | 2026-04-03 | 2026-02-01 to 2026-04-02 | 02 api 03 api 04 none 05 webhook
    were read from within a month   | 2026-04-02 | 2026-04-03 | 2026-02-02 to 2026-04-03 | 02 none 03 api 04 api 05 webhook
    were read without webhooks      | 2026-04-02 | -          | 2026-03-01 to 2026-05-20 | 03 api 04 api 05 api
    were read for a time            | 2026-04-02 | -          | 2026-03-01 to 2026-05-19 | 03 api 04 api 05 none
  `);
  for (const row of cases) {
    it(`should be known where they ${cell(row, "what")}: ${cell(row, "months")}`, () => {
      const [from, to] = cell(row, "read").split(" to ");
      const webhooks = cell(row, "webhooks");
      const known = {
        since: momentOf(cell(row, "since")),
        webhooksSince: webhooks === "-" ? null : momentOf(webhooks),
        read:
          from === undefined || to === undefined
            ? []
            : [{ from: momentOf(from), to: momentOf(to) }],
      };
      const months = coverageMonths(known, now);
      const shown = months.map(({ month, known_by: by }) => `${month.slice(5)} ${by}`).join(" ");
      expect(shown).to.equal(cell(row, "months"));
    });
  }
});

describe("The progress of a backfill", () => {
  const minute = 60_000;
  const cases = rowsOf(`
    what                  | state     | came to    | minutes | progress
    cannot tell           | reading   | -          | 9       | ? of 4 ? s
    has just begun        | reading   | 2026-04-30 | 9       | 0 of 4 ? s
    is within a month     | reading   | 2026-04-16 | 1       | 0 of 4 420 s
    is half way           | reading   | 2026-03-02 | 10      | 1 of 4 600 s
    compares              | comparing | 2026-03-02 | 10      | 1 of 4 600 s
    is through            | reading   | 2026-01-01 | 10      | 4 of 4 0 s
    went further back     | reading   | 2025-11-01 | 10      | 4 of 4 0 s
    has ended             | done      | 2026-01-01 | 10      | none
    has failed            | failed    | 2026-03-02 | 10      | none
  `);
  const to = momentOf("2026-05-01") - 1;
  for (const row of cases) {
    it(`should be shown where it ${cell(row, "what")}: ${cell(row, "progress")}`, () => {
      const [state] = states.filter((known) => known === row["state"]);
      if (state === undefined) throw new Error(`no state ${row["state"]}`);
      const came = cell(row, "came to");
      const listSince = new Date(to);
      const progress = progressOf({
        state,
        from: new Date(momentOf("2026-01-01")),
        createdAt: new Date(to),
        listSince,
        updatedAt: new Date(listSince.getTime() + Number(cell(row, "minutes")) * minute),
        through: came === "-" ? null : { from: momentOf(came), to },
      });
      expect(shownOf(progress)).to.equal(cell(row, "progress"));
    });
  }

  const states = ["reading", "comparing", "done", "failed"] as const;
  function shownOf(progress: ReturnType<typeof progressOf>): string {
    if (progress === null) return "none";
    const { months, months_done: done, list_seconds_left: left } = progress;
    return `${done ?? "?"} of ${months} ${left ?? "?"} s`;
  }
});
