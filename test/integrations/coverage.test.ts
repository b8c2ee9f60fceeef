/** How each month is known, and how far a reading has come: pure, as tables. */
import { expect } from "chai";
import { progressOf } from "../../workspaces/history/backfill-progress.js";
import { coverageMonths, unreadUntil } from "../../workspaces/history/coverage.js";
import { cell, momentOf, rowsOf } from "../model/tables/table.js";

/** "MM-DD" of the year. */
const on = (text: string): number => momentOf(`2026-${text}`);

describe("The months of an integration", () => {
  const now = momentOf("2026-05-20");
  const cases = rowsOf(`
    what                | since | webhooks | read           | unread | months
    have only sums | 05-02 | 05-03 | report 03 | 05-03 | 03 report 04 none 05 none
    have sums, too | 04-02 | 05-01 | report 04; 03-01 to 04-20 | 05-01 | 03 api 04 report 05 webhook
    have nothing yet    | 05-02 | -        | -              | -      | 05 none
    have no whole month | 04-02 | 04-03    | -              | 04-03  | 04 none 05 webhook
    begin with webhooks | 04-01 | 04-01    | -              | -      | 04 webhook 05 webhook
    wait for webhooks   | 03-02 | 05-03    | -              | 05-03  | 03 none 04 none 05 none
    were read before    | 04-02 | 04-03    | 02-01 to 04-03 | - | 02 api 03 api 04 api 05 webhook
    were read too early | 04-02 | 04-03 | 02-01 to 04-02 | 04-03 | 02 api 03 api 04 none 05 webhook
    were read too late | 04-02 | 04-03 | 02-02 to 04-03 | 03-01 | 02 none 03 api 04 api 05 webhook
    were read only      | 04-02 | -        | 03-01 to 05-20 | -      | 03 api 04 api 05 api
    were read a while   | 04-02 | -        | 03-01 to 05-19 | -      | 03 api 04 api 05 none
    came as a file | 04-02 | 05-01 | export 03-01 to 04-20 | 05-01 | 03 export 04 none 05 webhook
    came as both | 04-02 | 05-01 | export 04-01 to 05-01, 04-01 to 05-02 | - | 04 api 05 webhook
  `);
  for (const row of cases) {
    it(`should be known where they ${cell(row, "what")}: ${cell(row, "months")}`, () => {
      const spans = [...cell(row, "read").matchAll(/(export )?([\d-]+) to ([\d-]+)/g)];
      const webhooks = cell(row, "webhooks");
      const [, reported = ""] = /^report ([\d ]+)/.exec(cell(row, "read")) ?? [];
      const known = {
        reported: new Set(reported.match(/\d+/g)?.map((month) => `2026-${month}`)),
        since: on(cell(row, "since")),
        webhooksSince: webhooks === "-" ? null : on(webhooks),
        read: spans.map(([, file, from = "", to = ""]) => ({
          from: on(from),
          to: on(to),
          source: file === undefined ? ("api" as const) : ("export" as const),
        })),
      };
      const months = coverageMonths(known, now);
      const shown = months.map(({ month, known_by: by }) => `${month.slice(5)} ${by}`).join(" ");
      expect(shown).to.equal(cell(row, "months"));
      const unread = cell(row, "unread");
      const until = unreadUntil(months, known.webhooksSince);
      expect(until).to.equal(unread === "-" ? null : on(unread));
    });
  }
});

describe("The progress of a backfill", () => {
  const minute = 60_000;
  const cases = rowsOf(`
    what              | state     | came to | minutes | progress
    cannot tell       | reading   | -       | 9       | ? of 4 ? s
    has just begun    | reading   | 04-30   | 9       | 0 of 4 ? s
    is within a month | reading   | 04-16   | 1       | 0 of 4 420 s
    is half way       | reading   | 03-02   | 10      | 1 of 4 600 s
    compares          | comparing | 03-02   | 10      | 1 of 4 600 s
    is through        | reading   | 01-01   | 10      | 4 of 4 0 s
    went further back | reading   | before  | 10      | 4 of 4 0 s
    has ended           | done  | 01-01    | 10             | none
    has failed          | failed | 03-02    | 10             | none
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
        through: came === "-" ? null : { from: came === "before" ? 0 : on(came), to },
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
