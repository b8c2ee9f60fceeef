/**
 * The command that reads RevenueCat's export, as a process of its own: killed while it books, and
 * started again, it comes to what the same file comes to where nothing breaks.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { exportFile, type ExportedPurchase } from "../payloads/revenuecat-export.js";
import { dayMs } from "../harness/days.js";
import { newWorkspace } from "../harness/endpoints.js";
import { coverageOf, endedBackfill, figuresOf, shownBackfill } from "../harness/histories.js";
import { untilThere } from "../harness/promises.js";
import { killedCommand, runCommand, SuiteService } from "../harness/service-process.js";
import { prepareProcess } from "../harness/stores.js";

const customers = 300;
const monthsOfEach = 5;
const from = Math.floor(Date.now() / dayMs) * dayMs - 200 * dayMs;
const asOf = from + 190 * dayMs;
const moments = [40, 80, 120, 160, 185].map((day) => new Date(from + day * dayMs).toISOString());

/** Some begin with a trial, some stay away for a month, and some money is given back. */
const purchases = Array.from({ length: customers }, (_, customer) =>
  Array.from({ length: monthsOfEach }, (_month, month): ExportedPurchase => {
    const isBack = customer % 7 === 0 && month > 1;
    const day = (customer % 29) + (month + (isBack ? 1 : 0)) * 30;
    // No two at once: the order of a list is then the same in every workspace.
    const start = from + day * dayMs + customer * 60_000;
    const isTrial = customer % 5 === 0 && month === 0;
    return {
      transaction: `tx-${customer}-${month}`,
      original: `tx-${customer}-0`,
      user: `user-${customer}`,
      product: customer % 3 === 0 ? "team_monthly" : "pro_monthly",
      start,
      end: start + 30 * dayMs,
      amount: isTrial ? null : BigInt(999 + customer),
      currency: customer % 4 === 0 ? "USD" : "EUR",
      country: customer % 2 === 0 ? "DE" : "FR",
      renewal: month + 1,
      isTrial,
      ...(customer % 11 === 0 && month === 3 && { refundedAt: start + 2 * dayMs }),
    };
  }),
).flat();

describe("RevenueCat's export, read by a command that is killed", function suite() {
  this.timeout(240_000);
  const service = new SuiteService();
  const folder = mkdtempSync(join(tmpdir(), "revenue-export-"));
  after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

  it("should come to the figures and months of a reading that nothing broke", async () => {
    const settings = await prepareProcess(folder);
    let { endpoint } = await service.start(folder, settings);
    const [whole, broken] = [await openShop(), await openShop()];
    const day = new Date(from).toISOString().slice(0, 10);
    const csv = exportFile(purchases, asOf);
    const upload = `${whole.path}/integrations/${whole.integration}/export?from=${day}`;
    const sent = await whole.call(`/v1/manage${upload}`, {
      method: "POST",
      headers: { authorization: `Bearer ${endpoint.adminToken}`, "content-type": "text/csv" },
      body: new Uint8Array(csv),
    });
    expect(sent.status, sent.text).to.equal(202);
    const unbroken = await endedBackfill(whole, whole.integration);
    expect(unbroken, unbroken.problem ?? "").to.include({ state: "done" });
    await service.stop();

    const file = join(folder, "transactions.csv");
    writeFileSync(file, csv);
    const given = ["--integration", broken.integration, "--from", day, "--file", file, "--apply"];
    const words = ["backfill", ...given];
    const reported = await killedCommand(folder, words, "reading transactions (", settings);
    const [, read] = /reading transactions \((\d+) transactions\)/.exec(reported) ?? [];
    expect(Number(read), reported).to.be.within(1, purchases.length - 1);
    const again = await runCommand(folder, words, settings);
    expect(again.code, again.reported).to.equal(0);
    expect(again.reported).to.include("continuing it").and.include(`(${purchases.length} trans`);

    ({ endpoint } = await service.start(folder, settings));
    const [expected, found] = [await knownOf(whole), await knownOf(broken)];
    expect(expected.figures.transactions).to.have.lengthOf(200);
    expect(new Set(expected.figures.mrr).size).to.be.above(3);
    expect(expected.coverage.some((known) => known === "export")).to.equal(true);
    for (const name of ["counts", "comparison", "coverage", "figures", "rejects"] as const) {
      expect(found[name], name).to.deep.equal(expected[name]);
    }

    async function knownOf(shop: Awaited<ReturnType<typeof openShop>>) {
      const { counts, comparison } = await shownBackfill(shop, shop.integration);
      const months = await coverageOf(shop, shop.integration);
      return {
        figures: await figuresOf(shop, moments),
        counts,
        comparison,
        coverage: months.map(({ known_by: by }) => by),
        rejects: await shop.rejects(),
      };
    }

    /** A workspace with an integration of RevenueCat. */
    async function openShop() {
      const shop = await newWorkspace(() => endpoint);
      const credentials = { authorization: "Bearer of the killed command" };
      const { id: integration } = await shop.integrate("revenuecat", credentials);
      const booked = async (): Promise<string> => {
        const since = Date.now();
        return untilThere(async () => {
          const complete = String((await shop.get("/v1/metrics/mrr")).json.complete_to);
          return Date.parse(complete) >= since ? complete : null;
        });
      };
      return { ...shop, integration, booked };
    }
  });
});
