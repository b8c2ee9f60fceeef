/** Reading RevenueCat's history from the files of its Scheduled Data Exports. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { backfillFile } from "../../ops/backfill-file.js";
import { type ExportedPurchase, exportFile } from "../payloads/revenuecat-export.js";
import {
  type PurchaseInput,
  purchaseBody,
  type PurchaseType,
} from "../../ops/payloads/revenuecat.js";
import { createRevenueCat } from "../../providers/revenuecat/index.js";
import { type Endpoints, expectError } from "../harness/endpoints.js";
import { coverageOf, endedBackfill, inHalves, monthsOf } from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";
import { parquetOf } from "../harness/parquet.js";
import { until } from "../harness/promises.js";

const revenuecat = createRevenueCat({ toleranceSeconds: 300 });
const authorization = "Bearer of the export tests";
/** Of orders in which webhooks come. */
const seeds = [1, 2, 3];
const dayMs = 24 * 60 * 60 * 1000;
const from = Math.floor(Date.now() / dayMs) * dayMs - 130 * dayMs;
const onDay = (day: number): number => from + day * dayMs + 8 * 60 * 60 * 1000;
const dayText = (day: number): string => new Date(onDay(day)).toISOString().slice(0, 10);
const moments = [5, 20, 45, 60, 80, 110].map((day) => new Date(onDay(day) + 1).toISOString());
/** When the older and the newer file were written. */
const asOf = { older: onDay(50), newer: onDay(121) };

function purchase(user: string, day: number, more: Partial<ExportedPurchase> = {}) {
  return {
    transaction: `${user}-${day}`,
    original: `${user}-first`,
    user,
    product: "pro_monthly",
    start: onDay(day),
    end: onDay(day + 30),
    amount: 999n,
    currency: "USD",
    ...more,
  };
}

interface Bought extends ExportedPurchase {
  /** What ended it, where something did. */
  readonly expired?: number;
}

const bought: readonly Bought[] = [
  purchase("stays", 2),
  ...[32, 62, 92].map((day, index) => purchase("stays", day, { renewal: index + 2 })),
  purchase("leaves", 3, { currency: "EUR", country: "DE" }),
  { ...purchase("leaves", 33, { currency: "EUR", country: "DE", renewal: 2 }), expired: onDay(63) },
  purchase("tries", 4, { isTrial: true, end: onDay(11), amount: null }),
  purchase("tries", 11, { end: onDay(41), renewal: 2 }),
  { ...purchase("tries", 41, { end: onDay(71), renewal: 3 }), expired: onDay(71) },
  { ...purchase("returns", 6), expired: onDay(36) },
  purchase("returns", 70, { renewal: 2, end: onDay(100) }),
  purchase("returns", 100, { renewal: 3 }),
  {
    ...purchase("refunded", 40, { refundedAt: onDay(55), effectiveEnd: onDay(55) }),
    expired: onDay(55),
  },
  purchase("buys", 10, { end: null, product: "coins", amount: 300n, currency: "JPY" }),
  purchase("buys", 20, { end: null, product: "coins", original: "buys-20", refundedAt: onDay(90) }),
  purchase("yearly", 15, { end: onDay(15 + 365), amount: 9999n, product: "pro_yearly" }),
];
/** Of which nothing is booked. */
const others: readonly ExportedPurchase[] = [
  purchase("family", 5, { isFamilyShared: true, amount: 0n }),
  purchase("given", 5, { store: "promotional", amount: 0n }),
  purchase("sandbox", 5, { isSandbox: true }),
  purchase("unpriced", 5, { amount: null }),
  purchase("declined", 5, { end: onDay(4) }),
];

/** What RevenueCat has sent of all that. */
const webhooks: Buffer[] = bought.flatMap((one) => {
  const { transaction, user, product, start, end, amount, currency, renewal = 1 } = one;
  const shared: Omit<PurchaseInput, "id" | "at"> = {
    transaction,
    original: one.original ?? transaction,
    user,
    product,
    purchasedAt: start,
    expirationAt: end,
    periodType: one.isTrial === true ? "TRIAL" : "NORMAL",
    amount: amount ?? 0n,
    currency,
    tax: "0.1109",
    commission: "0.15",
    country: one.country ?? "US",
  };
  const event = (type: PurchaseType, at: number, more: Partial<PurchaseInput> = {}) =>
    purchaseBody(type, { ...shared, id: `${transaction}-${type}`, at, ...more });
  const first = renewal === 1 ? "INITIAL_PURCHASE" : "RENEWAL";
  const { refundedAt, expired } = one;
  return [
    event(end === null ? "NON_RENEWING_PURCHASE" : first, start + 4_000),
    ...(refundedAt === undefined
      ? []
      : [
          event("CANCELLATION", refundedAt, {
            amount: -(amount ?? 0n),
            more: { cancel_reason: "CUSTOMER_SUPPORT" },
          }),
        ]),
    ...(expired === undefined
      ? []
      : [
          event("EXPIRATION", expired + 60_000, {
            expirationAt: expired,
            more: { expiration_reason: "UNSUBSCRIBE" },
          }),
        ]),
  ];
});

describe("RevenueCat's export", function () {
  this.timeout(120_000);
  const suite = new HistorySuite({
    provider: "revenuecat",
    from: dayText(0),
    credentials: () => ({ authorization }),
    reported: () => webhooks,
    sign: (body) => revenuecat.sign(body, { authorization }, Date.now()),
    moments,
  });
  const { endpoints } = suite;
  const newer = exportFile([...bought, ...others], asOf.newer);

  it("should say what it would book and what it leaves out, and book nothing", async () => {
    const before = await endpoints.taken();
    for (const file of [newer, gzipSync(newer)]) {
      const { status, json, text } = await send(endpoints, suite.integration, file, "/check");
      expect(status, text).to.equal(200);
      expect(json.data).to.deep.include({
        lines: bought.length + others.length,
        purchases: bought.length,
        first: new Date(onDay(2)).toISOString(),
        as_of: new Date(asOf.newer).toISOString(),
        sums: [
          { currency: "USD", payments: 12, amount: 209.88, refunds: 2, refunded: 19.98 },
          { currency: "EUR", payments: 2, amount: 19.98, refunds: 0, refunded: 0 },
          { currency: "JPY", payments: 1, amount: 300, refunds: 0, refunded: 0 },
        ],
      });
      const leftOut: { why: string; lines: number }[] = json.data.left_out;
      expect(leftOut.map(({ lines }) => lines)).to.deep.equal([1, 1, 1, 1, 1]);
      expect(leftOut.map(({ why }) => why).join("; ")).to.match(
        /shared in a family.*nothing was paid.*sandbox.*no price.*before start_time/,
      );
    }
    expect(await endpoints.taken()).to.equal(before);
    expect(
      (await endpoints.manage("GET", pathOf(endpoints, suite.integration, "backfill"))).status,
    ).to.equal(404);
  });

  it("should book what webhooks alone book, and find it as listed", async () => {
    const done = await read(endpoints, suite.integration, newer);
    expect(done.counts).to.deep.equal({ transactions: bought.length });
    expect(done.comparison.every(({ same }) => same)).to.equal(true);
    expect(monthsOf(done).length).to.be.greaterThan(4);
    expect(done.missing.join(" ")).to.include("Sandbox purchases");
    expect(await suite.figures(endpoints)).to.deep.equal(suite.alone);
    expect(suite.alone.transactions).to.have.lengthOf(bought.length - 1);
    expect(new Set(suite.alone.mrr).size).to.be.greaterThan(3);
    expect(await endpoints.rejects()).to.deep.equal([]);
  });

  it("should come to the same where it is Parquet, in parts of any size", async () => {
    const linesOf = async (file: Buffer) => {
      const { status, json, text } = await send(endpoints, suite.integration, file, "/check");
      expect(status, text).to.equal(200);
      const leftOut: { why: string; lines: number }[] = json.data.left_out;
      return { ...json.data, left_out: leftOut.map(({ why, lines }) => [why, lines]) };
    };
    const asCsv = await linesOf(newer);
    for (const rowGroupSize of [1, 7, 1_000]) {
      expect(await linesOf(parquetOf(newer, rowGroupSize))).to.deep.equal(asCsv);
    }
    const { of: fresh, id } = await suite.fresh();
    await read(fresh, id, parquetOf(newer, 10));
    expect(await suite.figures(fresh)).to.deep.equal(suite.alone);
  });

  it("should cover its months, to the day on which it was written", async () => {
    const months = await coverageOf(endpoints, suite.integration);
    const known = months.map(({ known_by: by }) => by);
    expect(known.slice(1, -2)).to.deep.equal(known.slice(1, -2).map(() => "export"));
    expect(known[1]).to.equal("export");
    expect(known.at(-1)).to.equal("none");
  });

  it("should change nothing when read again, beside an older one, beside webhooks", async () => {
    await Promise.all(seeds.map((seed) => overlap(seed)));
  });

  /** Half of what webhooks report comes before one file, half between it and the next. */
  async function overlap(seed: number): Promise<void> {
    const { of: both, id, webhook } = await suite.fresh();
    // Of what both report, the webhook's reading stays.
    const elsewhere = bought.map((one) => ({ ...one, country: "FR" }));
    const older = exportFile(elsewhere, asOf.older);
    const files = seed % 2 === 0 ? [older, newer] : [newer, older];
    for (const [index, half] of inHalves(webhooks, seed).entries()) {
      await suite.deliver(both, webhook, half);
      await read(both, id, files[index] ?? newer);
    }
    await read(both, id, newer);
    expect(await suite.figures(both), `seed ${seed}`).to.deep.equal(suite.alone);
  }

  it("should come to the same whichever of two files is read first, without webhooks", async () => {
    for (const files of [
      [exportFile(bought, asOf.older), newer],
      [newer, exportFile(bought, asOf.older)],
    ]) {
      const { of: fresh, id } = await suite.fresh();
      for (const file of files) await read(fresh, id, file);
      expect(await suite.figures(fresh)).to.deep.equal(suite.alone);
    }
  });

  it("should book the part that a store refunded, and only once", async () => {
    const { of: shop, id } = await suite.fresh();
    const parts = purchase("parts", 10, { refundedAt: onDay(20), refunded: 333n });
    const file = exportFile([parts], asOf.newer);
    await read(shop, id, file);
    await read(shop, id, file);
    await shop.booked();
    const { json } = await shop.get("/v1/transactions");
    expect(json.data).to.have.lengthOf(1);
    expect(json.data[0]).to.include({ gross_amount: 9.99, refunded_amount: 3.33 });
  });

  for (const order of ["before", "after"]) {
    it(`should refund once what webhooks ${order} the file refunded in dollars`, async () => {
      const { of: shop, id, webhook } = await suite.fresh();
      const euros = purchase("dollars", 10, { currency: "EUR", refundedAt: onDay(20) });
      const inDollars = (type: PurchaseType, at: number, usdCents: bigint, more = {}) =>
        purchaseBody(type, {
          id: `dollars-${type}`,
          at,
          transaction: euros.transaction,
          original: euros.original,
          user: euros.user,
          product: euros.product,
          purchasedAt: euros.start,
          expirationAt: euros.end,
          amount: null,
          currency: null,
          usdCents,
          more,
        });
      const inOrder = [
        inDollars("INITIAL_PURCHASE", euros.start, 1100n),
        inDollars("CANCELLATION", onDay(20), -1100n, { cancel_reason: "CUSTOMER_SUPPORT" }),
      ];
      if (order === "before") await suite.deliver(shop, webhook, inOrder);
      await read(shop, id, exportFile([euros], asOf.newer));
      if (order === "after") await suite.deliver(shop, webhook, inOrder);
      await shop.booked();
      const { json } = await shop.get("/v1/transactions");
      expect(json.data).to.have.lengthOf(1);
      expect(json.data[0].refunded_amount).to.equal(json.data[0].gross_amount);
      const products = await shop.get("/v1/products?period=lifetime");
      expect(products.json.data[0]).to.include({ total_revenue: 0 });
    });
  }

  it("should read a folder by a command, and say first what it would book", async () => {
    const { of: shop, id } = await suite.fresh();
    // More than two pages of them.
    const many = Array.from({ length: 240 }, (_, index) => {
      const more = { original: `buyer${index}-10`, end: null, amount: 100n };
      return purchase(`buyer${index}`, 10, more);
    });
    const folder = mkdtempSync(join(tmpdir(), "exports-"));
    mkdirSync(join(folder, "2026-01-02"));
    // Files have no order: what changed last counts.
    writeFileSync(join(folder, "2026-01-02", "transactions_1.csv.gz"), gzipSync(newer));
    writeFileSync(join(folder, "transactions_2.csv"), exportFile([...bought, ...many], asOf.older));
    const run = async (apply: boolean) => {
      const lines: string[] = [];
      const steps = {
        startProcessors: async () => undefined,
        report: (line: string) => lines.push(line),
      };
      const given = { integration: id, from: onDay(0), file: folder, apply };
      return { code: await backfillFile(shop.service, given, steps), text: lines.join("\n") };
    };
    try {
      const dry = await run(false);
      expect(dry.code, dry.text).to.equal(1);
      expect(dry.text).to.include("of 2 files, 256 purchases");
      expect(dry.text).to.include("252 payments, 449.88 USD; 2 refunds, 19.98");
      expect(dry.text).to.include(
        "left out: 1 lines, the first is line 20 of its file: bought in a sandbox",
      );
      expect(dry.text).to.include("this was a dry run");
      const applied = await run(true);
      expect(applied.code, applied.text).to.equal(0);
      expect(applied.text).to.include("(256 transactions)").and.include("Cannot be had");
    } finally {
      rmSync(folder, { recursive: true });
    }
    // They go when it has ended.
    const { postgres } = shop.service;
    const lines = () => postgres.query("SELECT 1 FROM backfill_lines LIMIT 1");
    await until(async () => (await lines()).length === 0);
    const { mrr, transactions } = await suite.figures(shop);
    expect(mrr).to.deep.equal(suite.alone.mrr);
    expect(transactions).to.have.lengthOf(200);
  });

  it("should leave out what a store reports that is connected itself", async () => {
    const { of: shop, id } = await suite.fresh();
    await shop.integrate("apple", { bundle_id: "com.example.export" });
    const file = exportFile(
      [purchase("apple", 1), purchase("amazon", 1, { store: "amazon" })],
      asOf.newer,
    );
    const { json } = await send(shop, id, file, "/check");
    expect(json.data).to.deep.include({
      purchases: 1,
      left_out: [{ why: "apple is connected here itself", lines: 1, first_line: 2 }],
    });
  });

  it("should refuse what is no such file, and say why", async () => {
    const cases: readonly [Buffer, RegExp][] = [
      [Buffer.from(""), /empty/],
      [Buffer.from("a,b\n1,2\n"), /lacks these columns: rc_original_app_user_id/],
      [gzipSync(newer).subarray(0, 200), /cannot be read/],
      [parquetOf(newer, 10).subarray(0, -9), /cannot be read: parquet file invalid/],
      [parquetOf(newer, 10).fill(0xff, 100, 200), /cannot be read/],
      [parquetOf(Buffer.from("a,b\n1,2\n"), 1), /lacks these columns: rc_original_app_user_id/],
    ];
    for (const [file, why] of cases) {
      const answer = await send(endpoints, suite.integration, file, `?from=${dayText(0)}`);
      expectError(answer, "422 export_unreadable");
      expect(answer.json.error.message).to.match(why);
    }
    const nothing = exportFile(others, asOf.newer);
    expectError(
      await send(endpoints, suite.integration, nothing, `?from=${dayText(0)}`),
      "422 export_unreadable",
    );
    expectError(await send(endpoints, suite.integration, newer, ""), "400 parameter_invalid from");
    const stripe = await endpoints.integrate("stripe", { signing_secret: "whsec_of_exports" });
    expectError(await send(endpoints, stripe.id, newer, "/check"), "422 export_unsupported");
  });

  async function read(to: Endpoints, id: string, file: Buffer) {
    const started = await send(to, id, file, `?from=${dayText(0)}`);
    expect(started.status, started.text).to.equal(202);
    const done = await endedBackfill(to, id);
    expect(["done", "different"], done.problem ?? "").to.include(done.state);
    return done;
  }

  function send(to: Endpoints, id: string, file: Buffer, more: string) {
    return to.call(`/v1/manage${pathOf(to, id, `export${more}`)}`, {
      method: "POST",
      headers: { authorization: `Bearer ${to.adminToken}`, "content-type": "text/csv" },
      body: new Uint8Array(file),
    });
  }

  function pathOf({ path }: Endpoints, id: string, what: string): string {
    return `${path}/integrations/${id}/${what}`;
  }
});
