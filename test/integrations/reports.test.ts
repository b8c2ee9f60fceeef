/** Stores' reports over HTTP and by the command: kept, and beside what is booked. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { reports as reportsCommand } from "../../ops/reports.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { appStoreSales } from "../harness/store-reports.js";

const euros = { "Customer Currency": "EUR", "Currency of Proceeds": "EUR" };
const app = { ...euros, SKU: "app1", "Apple Identifier": "77", Units: "1" };
const free = { ...app, "Customer Price": "0", "Developer Proceeds": "0" };
const gold = {
  ...euros,
  SKU: "gold",
  "Parent Identifier": "app1",
  "Customer Price": "9.99",
  "Developer Proceeds": "7.13",
};
const march = [free, { ...gold, Units: "3" }, { ...gold, Units: "-1" }];

describe("Reports of an integration", () => {
  const endpoints = suiteEndpoints();
  const credentials = { bundle_id: "com.example.app", app_apple_id: 77 };
  let integration: string;

  const pathOf = (id: string, more = "") =>
    `/v1/manage${endpoints.path}/integrations/${id}/reports${more}`;
  const upload = (id: string, body: Buffer | string, more = "", type = "application/gzip") =>
    endpoints.call(pathOf(id, more), {
      method: "POST",
      headers: { authorization: `Bearer ${endpoints.adminToken}`, "content-type": type },
      body: new Uint8Array(Buffer.from(body)),
    });
  const manage = async (path: string) =>
    (await endpoints.manage("GET", `${endpoints.path}/integrations/${path}`)).json.data;
  const sell = async (id: string, at: string, more: object = {}) => {
    const event = {
      provider: "apple",
      event_type: "transaction.sale",
      event_id: id,
      amount: 9.99,
      currency: "EUR",
      product_id: "gold",
      occurred_at: at,
      ...more,
    };
    expect(await endpoints.ingest(event)).to.include({ status: 202 });
  };

  before(async () => {
    ({ id: integration } = await endpoints.integrate("apple", credentials));
    // Still February in California.
    await sell("early", "2026-03-01T07:59:59Z");
    await sell("first", "2026-03-01T08:00:00Z");
    await sell("last", "2026-04-01T06:59:59Z");
    await sell("other", "2026-03-10T00:00:00Z", { product_id: "silver" });
    const refund = { event_type: "transaction.refund", transaction_id: "first", amount: 4 };
    await sell("refund", "2026-03-20T00:00:00Z", refund);
    await endpoints.booked();
  });

  it("should say what a file comes to, and keep nothing of it", async () => {
    const { status, json } = await upload(integration, gzipSync(appStoreSales(march)), "/check");
    expect(status).to.equal(200);
    expect(json.data).to.deep.include({
      kind: "sales",
      month: "2026-03",
      sums: [{ currency: "EUR", exponent: 2, paid_minor: 2997, refunded_minor: 999 }],
      left_out: [{ why: "free", lines: 1 }],
    });
    expect(await manage(`${integration}/reports`)).to.deep.equal([]);
  });

  it("should show what is booked beside a report, and that the month is known by it", async () => {
    const { status } = await upload(integration, gzipSync(appStoreSales(march)));
    expect(status).to.equal(201);
    const [kept] = await manage(`${integration}/reports`);
    expect(kept).to.include({ kind: "sales", month: "2026-03", lines: 3 });
    const { rows, proceeds } = await manage(`${integration}/reports/sales/2026-03`);
    expect(proceeds).to.deep.equal([{ currency: "EUR", exponent: 2, amount_minor: 1426 }]);
    const euro = { currency: "EUR", exponent: 2 };
    expect(rows).to.deep.equal([
      {
        product: "silver",
        ...euro,
        reported_paid_minor: 0,
        reported_refunded_minor: 0,
        booked_paid_minor: 999,
        booked_refunded_minor: 0,
        difference_minor: -999,
      },
      {
        product: "gold",
        ...euro,
        reported_paid_minor: 2997,
        reported_refunded_minor: 999,
        booked_paid_minor: 1998,
        booked_refunded_minor: 400,
        difference_minor: 400,
      },
    ]);
    const { months } = await manage(`${integration}/coverage`);
    expect(months[0]).to.deep.equal({ month: "2026-03", known_by: "report" });
    const sales = (await endpoints.get("/v1/metrics/revenue?from=2026-03-01&to=2026-05-01")).json;
    expect(sales.data.totals.sales, "a report is no payment").to.equal(4);
  });

  it("should take the newer of two reports of a month, by the command too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "reports-"));
    try {
      writeFileSync(join(folder, "S_M_1.txt"), appStoreSales(march.slice(0, 2)));
      writeFileSync(join(folder, "S_M_2.txt"), "cut");
      const lines: string[] = [];
      const given = { integration, file: folder, apply: true };
      const report = (line: string) => lines.push(line);
      expect(await reportsCommand(endpoints.service, given, report)).to.equal(1);
      expect(lines.join("\n")).to.match(/sales of 2026-03, 2 lines\n.*29\.97 EUR paid, 0\.00 EUR/);
      expect(lines.join("\n")).to.match(/S_M_2\.txt: The file is no report/);
    } finally {
      rmSync(folder, { recursive: true });
    }
    const { rows } = await manage(`${integration}/reports/sales/2026-03`);
    const [first] = rows;
    expect(first).to.include({ product: "gold", reported_refunded_minor: 0 });
  });

  it("should compare with what came by this integration, where there are others", async () => {
    const { id } = await endpoints.integrate("apple", { ...credentials, bundle_id: "com.second" });
    expect((await upload(id, appStoreSales(march), "", "text/plain")).status).to.equal(201);
    const { rows } = await manage(`${id}/reports/sales/2026-03`);
    expect(rows).to.have.lengthOf(1);
    expect(rows[0]).to.include({ product: "gold", booked_paid_minor: 0 });
  });

  it("should refuse other files, other types and providers without reports", async () => {
    const cut = gzipSync(appStoreSales(march)).subarray(0, -9);
    expectError(await upload(integration, cut), "422 report_unreadable");
    expect(await upload(integration, "{}", "", "application/json")).to.include({ status: 415 });
    const { id } = await endpoints.integrate("custom", {});
    expectError(await upload(id, "a"), "422 reports_unsupported");
    for (const path of ["sales/2026-04", "sales/next", "taxes/2026-03"]) {
      const url = `${endpoints.path}/integrations/${integration}/reports/${path}`;
      expectError(await endpoints.manage("GET", url), "404 report_unknown");
    }
  });
});
