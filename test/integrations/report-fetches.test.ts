/** Stores' reports from HTTP servers that answer as App Store Connect and Google's bucket do. */
import { expect } from "chai";
import { monthNumber, monthText } from "../../schemas/months.js";
import { credentialsOf, makeSigner, packageName } from "../apis/google-signer.js";
import { always, answered, cut, cutWithin, inTurn, tooMany } from "../apis/failures.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import {
  appStoreFinance,
  appStoreSales,
  playEarnings,
  playSales,
  settledMonth,
  soldGold,
} from "../harness/store-reports.js";
import { zipOf } from "../harness/zip.js";

const { at: settled, month, fiscal, days, fourWeeks } = settledMonth;
const [year = "", ofYear = ""] = month.split("-");

const euros = { "Customer Currency": "EUR", "Currency of Proceeds": "EUR", Units: "2" };
const appId = "6448311069";
const app = { ...euros, SKU: "app1", "Apple Identifier": appId, "Customer Price": "0" };
const gold = { ...euros, SKU: "gold", "Parent Identifier": "app1", "Customer Price": "9.99" };
const paid = { "Developer Proceeds": "7.13" };
const ordered = {
  "Financial Status": "Charged",
  "Product ID": packageName,
  "SKU ID": "gold",
  "Currency of Sale": "EUR",
  "Charged Amount": "5.00",
};
const charged = {
  "Transaction Type": "Charge",
  "Product id": packageName,
  "Sku Id": "gold",
  "Buyer Currency": "EUR",
  "Amount (Buyer Currency)": "4.00",
  "Merchant Currency": "USD",
  "Amount (Merchant Currency)": "4.40",
};

describe("Fetching the stores' reports", function () {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();

  const pathOf = (id: string, more = "") => `${endpoints.path}/integrations/${id}/reports${more}`;
  const read = async (id: string, more = "") =>
    (await endpoints.manage("GET", pathOf(id, more))).json.data;
  const begin = async (id: string) =>
    expect(await endpoints.manage("POST", pathOf(id, "/fetch"))).to.include({ status: 202 });
  const ended = async (id: string) => {
    await until(async () => ["done", "failed"].includes((await read(id, "/fetch")).state));
    return read(id, "/fetch");
  };
  const fetched = async (id: string) => {
    await begin(id);
    return ended(id);
  };
  const ofApple = async () =>
    (await endpoints.integrate("apple", endpoints.appStore.reportCredentials)).id;
  const calls = () => endpoints.appStore.calls.filter((path) => path.startsWith("/v1/"));

  beforeEach(() => {
    const sales = appStoreSales(
      [
        { ...app, ...paid },
        { ...gold, ...paid },
      ],
      days,
    );
    endpoints.appStore.reports.set(`SALES ${month}`, sales);
    const finance = appStoreFinance([soldGold], { Total_Rows: "1" }, fourWeeks);
    endpoints.appStore.reports.set(`FINANCIAL ${fiscal}`, finance);
  });
  afterEach(() => {
    endpoints.appStore.misbehave = null;
    endpoints.play.misbehave = null;
    endpoints.appStore.reports.clear();
    endpoints.appStore.calls.length = 0;
  });

  it("should bring sales and fiscal months, past cut connections, 429 and 5xx", async () => {
    const id = await ofApple();
    const faults = inTurn([tooMany, answered(503), cut, cutWithin]);
    endpoints.appStore.misbehave = faults;
    expect(await fetched(id)).to.include({ state: "done", problem: null, is_possible: true });
    expect(faults.calls, "each was met").to.be.at.least(4);
    const reports = await read(id);
    const euro = { currency: "EUR", exponent: 2 };
    expect(reports).to.have.lengthOf(2);
    expect(reports[0]).to.deep.include({
      kind: "finance",
      month,
      source: "api",
      lines: 1,
      sums: [{ ...euro, paid_minor: 2997, refunded_minor: 0 }],
      proceeds: [{ currency: "USD", exponent: 2, amount_minor: 2139 }],
    });
    expect(reports[1]).to.deep.include({
      kind: "sales",
      month,
      source: "api",
      lines: 2,
      sums: [{ ...euro, paid_minor: 1998, refunded_minor: 0 }],
      proceeds: [{ ...euro, amount_minor: 1426 }],
    });
    const { months } = (await endpoints.manage("GET", pathOf(id).replace(/reports$/, "coverage")))
      .json.data;
    expect(months[0]).to.deep.equal({ month, known_by: "report" });
    const { rows } = await read(id, `/sales/${month}`);
    expect(rows[0]).to.include({
      product: "gold",
      reported_paid_minor: 1998,
      difference_minor: 1998,
    });
  });

  it("should ask for missing months only, and leave uploaded ones as they are", async () => {
    const id = await ofApple();
    const path = `/v1/manage${pathOf(id)}`;
    const uploaded = appStoreSales([{ ...app, ...paid }], days);
    const headers = {
      authorization: `Bearer ${endpoints.adminToken}`,
      "content-type": "text/plain",
    };
    const taken = await endpoints.call(path, { method: "POST", headers, body: uploaded });
    expect(taken.status).to.equal(201);
    expect(await fetched(id)).to.include({ state: "done", kept: 1 });
    expect(calls()).to.have.lengthOf(12 + 11);
    const [finance, sales] = await read(id);
    expect([finance.source, sales.source, sales.lines]).to.deep.equal(["api", "file", 1]);
    endpoints.appStore.calls.length = 0;
    expect(await fetched(id)).to.include({ state: "done", kept: 0 });
    expect(calls()).to.have.lengthOf(11 + 11);

    const one = pathOf(id, `/sales/${month}`);
    expect((await endpoints.manage("DELETE", one)).json.data).to.include({ kind: "sales", month });
    expectError(await endpoints.manage("DELETE", one), "404 report_unknown");
    expect(await read(id)).to.have.lengthOf(1);
    const { data } = (await endpoints.manage("GET", `${endpoints.path}/activity`)).json;
    expect(data.map(({ action }: { action: string }) => action)).to.include.members([
      "report.deleted",
      "report.uploaded",
      "report_fetch.started",
    ]);
    await endpoints.manage("DELETE", pathOf(id, `/finance/${month}`));
    const coverage = await endpoints.manage("GET", pathOf(id).replace(/reports$/, "coverage"));
    expect(coverage.json.data.months[0].known_by, "known by no report").to.not.equal("report");
  });

  it("should say what was refused or cannot be read, and keep the rest", async () => {
    const id = await ofApple();
    const forbidden = answered(403, { errors: [{ code: "FORBIDDEN_ERROR" }] });
    endpoints.appStore.misbehave = always(forbidden, "/v1/financeReports");
    const later = monthText(monthNumber(settled) + 1);
    const ofOthers = appStoreSales([{ ...app, "Apple Identifier": "1" }], days);
    endpoints.appStore.reports.set(`SALES ${monthText(monthNumber(settled) + 2)}`, ofOthers);
    endpoints.appStore.reports.set(`SALES ${later}`, appStoreSales([app], days));
    const { state, problem, kept } = await fetched(id);
    expect({ state, kept }).to.deep.equal({ state: "failed", kept: 1 });
    expect(problem).to.equal(
      `sales of ${later}: the store answered sales of ${month}. 1 more could not be had or read.`,
    );
    endpoints.appStore.reports.delete(`SALES ${later}`);
    expect((await fetched(id)).problem).to.match(/refused finance of .*: answered 403\.$/);
  });

  it("should rest when hardly any calls of the hour are left", async () => {
    const id = await ofApple();
    const rare = { "x-rate-limit": "user-hour-lim:3600;user-hour-rem:3;" };
    endpoints.appStore.misbehave = always(answered(404, {}, rare));
    await begin(id);
    await until(async () => (await read(id, "/fetch")).problem !== null);
    const { state, problem } = await read(id, "/fetch");
    expect(state).to.equal("waiting");
    expect(problem).to.equal("The API of apple cannot be had: asks us to wait.");
    expect(calls()).to.have.lengthOf(1);
  });

  it("should add up the files of a month in Google's bucket", async () => {
    const { play } = endpoints;
    const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");
    const name = `${year}${ofYear}`;
    const put = (file: string, text: string) =>
      play.bucket.set(`${file}.zip`, zipOf([[`${file}.csv`, utf16(text)]]));
    put(`sales/salesreport_${name}`, playSales([ordered, ordered], `${month}-10`));
    const day = new Date(settled).toLocaleDateString("en-US", { month: "short", timeZone: "UTC" });
    const earnings = playEarnings([charged], `${day} 10, ${year}`);
    put(`earnings/earnings_${name}_0000000000000000-1`, earnings);
    put(`earnings/earnings_${name}_0000000000000000-2`, earnings);
    play.misbehave = inTurn([answered(500)]);
    const credentials = {
      ...credentialsOf(makeSigner("of-the-reports")),
      service_account_key: play.serviceAccountKey,
    };
    const bucket = `gs://${play.bucketName}/earnings/`;
    const { id } = await endpoints.integrate("google", { ...credentials, reports_bucket: bucket });
    expect(await fetched(id)).to.include({ state: "done", problem: null, kept: 2 });
    const [first, second] = await read(id);
    expect(first).to.deep.include({
      kind: "earnings",
      sums: [{ currency: "EUR", exponent: 2, paid_minor: 800, refunded_minor: 0 }],
      proceeds: [{ currency: "USD", exponent: 2, amount_minor: 880 }],
    });
    expect(second).to.include({ kind: "estimated_sales", source: "api", lines: 2 });

    const wrong = { ...credentials, reports_bucket: "pubsite_prod_rev_1" };
    const { id: other } = await endpoints.integrate("google", wrong);
    expect((await fetched(other)).problem).to.match(/there is no bucket pubsite_prod_rev_1\b/);
  });

  it("should need credentials for reports, all of them, and go without", async () => {
    const { reports_key_id: _, ...some } = endpoints.appStore.reportCredentials;
    const body = { provider: "apple", environment: "Production", credentials: some };
    expectError(
      await endpoints.manage("POST", `${endpoints.path}/integrations`, body),
      "422 credential_invalid",
    );
    const { id } = await endpoints.integrate("apple", { bundle_id: "com.example.none" });
    expectError(
      await endpoints.manage("POST", pathOf(id, "/fetch")),
      "422 report_fetch_unsupported",
    );
    expect(await read(id, "/fetch")).to.deep.equal({
      state: "none",
      problem: null,
      kept: 0,
      fetched_at: null,
      is_possible: false,
    });
  });
});
