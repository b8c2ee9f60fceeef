/** Exports of other tools: what is read of their files, what is left out, and what is sent. */
import { expect } from "chai";
import { until } from "../harness/promises.js";
import { suiteImports } from "./imports.js";

const invoices = [
  "Customer external ID,Invoice external ID,Invoiced date,Due date,Currency,Status",
  "c1,i1,2025-01-01 00:00:00,,EUR,paid",
  "c1,i2,2025-02-01 00:00:00,,EUR,paid",
  "c1,i3,2025-03-01 00:00:00,,EUR,paid",
  "c2,i4,2025-01-10 00:00:00,,USD,paid",
  "c2,i5,2025-01-11 00:00:00,,JPY,paid",
  "c3,i6,2025-01-12 00:00:00,,EUR,open",
];
const items = [
  "Invoice external ID,External ID,Subscription external ID,Subscription set external ID,Type," +
    "Amount in cents,Plan,Service period start,Service period end,Quantity,Proration," +
    "Discount code,Discount amount,Tax amount,Description,Transaction fee,Account Code",
  "i1,l1,s1,,subscription,1000,gold,2025-01-01 00:00:00,2025-02-01 00:00:00,1,false,,0,0,,0,",
  "i2,l2,s1,,subscription,1000,gold,2025-02-01 00:00:00,2025-03-01 00:00:00,1,false,,0,0,,0,",
  "i3,l3,s1,,subscription,1500,gold,2025-03-01 00:00:00,2025-04-01 00:00:00,1,false,,0,0,,0,",
  // Taxed, and with a fee for the setup: its money is known, its price is not.
  "i4,l4,s2,,subscription,12000,gold,2025-01-10,2026-01-10,1,false,,0,1916,,0,",
  "i4,l5,,,one_time,500,,,,1,,,0,0,Setup,0,",
  "i5,l6,,,one_time,500,,,,1,,,0,0,,0,",
];
const transactions = [
  "Invoice external ID,External ID,Type,Result,Date,Amount in cents",
  "i1,t1,payment,successful,2025-01-01 10:00:00,",
  "i2,t2,payment,failed,2025-02-01 10:00:00,",
  "i2,t3,payment,successful,2025-02-02 10:00:00,",
  "i3,t4,payment,successful,2025-03-01 10:00:00,1500",
  "i3,t5,refund,successful,2025-03-05 10:00:00,400",
  "i4,t6,payment,successful,2025-01-10,",
  "i5,t7,payment,successful,2025-01-11,",
  // Its lines come to 15.00, of which 4.00 were given back.
  "i3,t8,payment,successful,2025-03-06 10:00:00,401",
];
const cancellations = ["Subscription external ID,Customer external ID,Date", "s1,c1,2025-04-01"];
const customers = [
  "Name,Email,Company,Country,State,City,Zip,External ID,Lead created at",
  "One,one@example.com,,Germany,,,,c1,",
];
const plans = ["Name,Interval count,Interval unit,Plan ID", "Gold,1,month,gold"];

describe("The import of other tools' exports", () => {
  const { endpoints, fileOf, run, apply } = suiteImports();
  const chartMogul = (...contents: (readonly string[])[]) => [
    "--export",
    "chartmogul",
    ...contents.map((content) => fileOf(content)),
  ];
  const whole = [invoices, items, transactions, cancellations, customers, plans];

  it("should say what a ChartMogul export comes to, and what it leaves out", async () => {
    const { code, reported } = await run(...chartMogul(...whole));
    expect(code).to.equal(0);
    expect(reported.slice(0, 11)).to.deep.equal([
      "6 rows are right, 2025-01-01T10:00:00.000Z to 2025-04-01T00:00:00.000Z:",
      "  subscription.churn 1 rows, 0.00 EUR",
      "  subscription.new 2 rows, 25.00 EUR",
      "  transaction.refund 1 rows, 4.00 EUR",
      "  transaction.sale 1 rows, 10.00 EUR",
      "  transaction.sale 1 rows, 125.00 USD",
      "  MRR of 1 of 2 subscriptions is read",
      "  left out: 1 lines, the first is line 6: an invoice in JPY, which has no cents (of the " +
        "invoices)",
      "  left out: 1 lines, the first is line 7: an invoice without line items (of the " +
        "invoices)",
      "  left out: 1 lines, the first is line 3: its Result is not successful",
      "  left out: 1 lines, the first is line 9: with it more is paid than the line items of its " +
        "invoice come to",
    ]);
    expect(reported.at(-1)).to.match(/this was a dry run/);
  });

  it("should read no MRR where no file tells ends", async () => {
    const { reported } = await run(...chartMogul(invoices, items, transactions));
    expect(reported).to.include("  MRR of 0 of 2 subscriptions is read");
    expect(reported).to.include("  transaction.sale 3 rows, 35.00 EUR");
  });

  it("should book each payment once, and the MRR that is sure", async () => {
    const words = chartMogul(...whole);
    const first = await apply(words);
    expect(first.reported.at(-1)).to.equal("Taken: 6. Known already: 0. Refused: 0.");
    expect((await apply(words)).reported.at(-1)).to.equal(
      "Taken: 0. Known already: 6. Refused: 0.",
    );
    await endpoints.booked();
    const path = "/v1/transactions?from=2025-03-01&to=2025-04-01";
    const listed = async () => (await endpoints.get(path)).json.data;
    // A name reaches the list a moment after the figures.
    await until(async () => (await listed())[0]?.product_name !== "gold");
    const data = await listed();
    expect(data).to.have.lengthOf(1);
    expect(data[0]).to.include({ gross_amount: 15, refunded_amount: 4, product_name: "Gold" });
    const movements = await endpoints.get(
      "/v1/metrics/mrr/movements?from=2025-01-01&to=2025-05-01",
    );
    const rows: readonly Record<string, number>[] = movements.json.data.movements;
    expect(rows.map((row) => [row["new_accounts"], row["churned_accounts"]])).to.deep.equal([
      [1, 0],
      [0, 0],
      [0, 0],
      [0, 1],
    ]);
    expect(rows[2]?.["expansion_mrr"]).to.be.greaterThan(0);
  });

  it("should not send what may be booked already, unless told so", async () => {
    const event = { provider: "gumroad", event_type: "transaction.sale", amount: 3 };
    await endpoints.record({ ...event, occurred_at: "2024-06-05T00:00:00Z" });
    await endpoints.booked();
    const charges = [
      "oid,status,created,amount,currency,customer.oid,original_amount",
      "ch1,paid,1717200000,2500,USD,k1,2500",
      "ch2,refunded,1717200000,2500,USD,k1,2500",
      "ch3,paid,1717200000,2500,USD,k1,2400",
      "ch4,paid,1722470400,100,USD,k2,",
    ];
    const words = ["--export", "baremetrics", fileOf(charges)];
    const before = await endpoints.taken();
    const covered = await apply(words);
    expect(covered.code).to.equal(1);
    expect(covered.reported).to.include("  2024-06: 1 payments of gumroad");
    expect(covered.text).not.to.include("2024-08:");
    expect(covered.reported).to.include("  transaction.sale 2 rows, 26.00 USD");
    expect(covered.text).to.match(/left out: 1 lines, the first is line 3: its status is not paid/);
    expect(covered.text).to.match(/line 4: amount and original_amount differ/);
    expect(await endpoints.taken()).to.equal(before);
    const sent = await apply([...words, "--beside"]);
    expect(sent.reported.at(-1)).to.equal("Taken: 2. Known already: 0. Refused: 0.");
  });

  const refused: [title: string, reported: RegExp, words: () => string[]][] = [
    [
      "movements of MRR",
      /holds MRR movements: it says how MRR changed and not what was paid/,
      () => chartMogul(["DATE,CUSTOMER_NAME,MRR_MOVEMENT,MRR,MOVEMENT_TYPE", "2025-01-01,a,1,1,x"]),
    ],
    [
      "Baremetrics' list of subscriptions",
      /holds subscriptions: .*Payments would be invented/,
      () => [
        "--export",
        "baremetrics",
        fileOf(["plan_oid,plan_amount,customer_oid,subscription_oid,subscription_started_at"]),
      ],
    ],
    [
      "a file in UTF-16 that does not say so",
      /It is not in UTF-8\. Those are: /,
      () => ["--export", "chartmogul", fileOf(Buffer.from(transactions.join("\n"), "utf16le"))],
    ],
    ["foreign columns", /the columns of no file that is read here/, () => chartMogul(["a,b"])],
    [
      "two of one dataset",
      /Two files are transactions/,
      () => chartMogul(transactions, [...transactions]),
    ],
    ["a missing dataset", /missing: invoices, invoice line items/, () => chartMogul(transactions)],
    [
      "a cut line",
      /line 3 has more or fewer cells/,
      () => chartMogul([...invoices.slice(0, 2), "c1"]),
    ],
    ["an unknown tool", /--export is one of chartmogul, baremetrics/, () => ["--export", "x", "f"]],
    ["lines to go on from", /^npm run import/, () => [...chartMogul(invoices), "--from-line", "2"]],
  ];
  for (const [title, reported, words] of refused) {
    it(`should refuse ${title}`, async () => {
      const { code, text } = await run(...words());
      expect(text).to.match(reported);
      expect(code).to.equal(2);
    });
  }
});
