/** Whose months are compared and reports fetched every night, and when. No list is read here. */
import { expect } from "chai";
import { askForTheNight } from "../../processors/reconcile/run-reconciliations.js";
import { apiKey } from "../apis/stripe-api.js";
import { suiteEndpoints } from "../harness/endpoints.js";
import { providers } from "../harness/provider-cases.js";
import { endReportFetch } from "../../workspaces/history/report-fetches.js";
import {
  type DueReconciliation,
  endReconciliation,
} from "../../workspaces/history/reconciliations.js";

const report = {
  agreed_minor: 0,
  compared_minor: 0,
  score_pct: null,
  currencies: [],
  differences_total: 0,
  reasons: {},
  differences: [],
  left_out: 0,
  kinds: {},
  costs: [],
  cost_differences: [],
  own_figures: [],
  own_figures_problem: null,
};

describe("The nightly reconciliation", () => {
  const endpoints = suiteEndpoints();
  // So far ahead that the service takes up none of it.
  const ask = (time: string) =>
    askForTheNight({ ...endpoints.service, providers }, new Date(`2099-03-${time}:00Z`));

  async function waiting(integration: string): Promise<DueReconciliation[]> {
    return endpoints.service.postgres.query<DueReconciliation>(
      `SELECT integration, month, due_at AS "dueAt" FROM reconciliations
       WHERE integration = $1 AND state = 'waiting' ORDER BY month`,
      [integration],
    );
  }
  const monthsOf = (rows: readonly DueReconciliation[]): string[] => rows.map(({ month }) => month);

  it("should ask for three months of each integration with a key, once a night", async () => {
    const { postgres } = endpoints.service;
    const secret = { signing_secret: "whsec_of_the_night" };
    const { id } = await endpoints.integrate("stripe", { ...secret, api_key: apiKey });
    const { id: keyless } = await endpoints.integrate("stripe", secret);
    await ask("02T01:15");
    const first = await waiting(id);
    expect(monthsOf(first)).to.deep.equal(["2099-01", "2099-02", "2099-03"]);
    expect(await waiting(keyless)).to.deep.equal([]);
    const [january, february, march] = first;
    if (!january || !february || !march) throw new Error("not three months");
    expect(january.dueAt.getTime()).to.be.within(
      Date.parse("2099-03-02T01:15Z"),
      Date.parse("2099-03-02T04:15Z"),
    );
    await ask("02T02:15");
    expect(await waiting(id), "what waits keeps its turn").to.deep.equal(first);

    const comparedAt = new Date("2099-03-02T02:30Z");
    await endReconciliation(postgres, january, { report, comparedAt });
    await endReconciliation(postgres, february, { problem: "No.", againAt: null });
    const againAt = new Date("2099-03-02T05:00Z");
    await endReconciliation(postgres, march, { problem: "Not now.", againAt });
    expect(monthsOf(await waiting(id)), "of one that is tried again").to.deep.equal(["2099-03"]);
    // It was asked for anew meanwhile: what ended is not that.
    await endReconciliation(postgres, march, { report, comparedAt });
    await ask("02T03:15");
    expect(monthsOf(await waiting(id)), "what failed").to.deep.equal(["2099-02", "2099-03"]);
    await ask("03T01:15");
    expect(monthsOf(await waiting(id)), "the next night").to.have.lengthOf(3);
  });

  it("should ask once a night for reports, given credentials for them", async () => {
    const { postgres } = endpoints.service;
    const { id } = await endpoints.integrate("apple", endpoints.appStore.reportCredentials);
    const { id: without } = await endpoints.integrate("apple", endpoints.appStore.credentials);
    const due = () =>
      postgres.query<{ integration: string; dueAt: Date }>(
        `SELECT integration, due_at AS "dueAt" FROM report_fetches
         WHERE integration = ANY($1) AND state = 'waiting'`,
        [[id, without]],
      );
    const end = async (problem: string | null, at: string) => {
      const [one] = await due();
      if (one === undefined) throw new Error("nothing is due");
      const ended = { problem, kept: 0, againAt: null };
      await endReportFetch(postgres, one, ended, new Date(`2099-03-${at}:00Z`));
    };
    await ask("10T01:15");
    const [first, ...others] = await due();
    expect(first?.integration).to.equal(id);
    expect(others).to.deep.equal([]);
    await end("No.", "10T01:30");
    await ask("10T02:15");
    expect(await due(), "what failed").to.have.lengthOf(1);
    await end(null, "10T02:30");
    await ask("10T03:15");
    expect(await due(), "what is done").to.deep.equal([]);
    await ask("11T01:15");
    expect(await due(), "the next night").to.have.lengthOf(1);
    expect(await waiting(id), "no list to compare with").to.deep.equal([]);
  });
});
