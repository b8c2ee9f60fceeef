/** Stores' reports of a month, as files: what they come to, and what is refused. */
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { createApple } from "../../../providers/apple/index.js";
import { createGoogle } from "../../../providers/google/index.js";
import type { StoreReport } from "../../../providers/reports/report.js";
import { ReportRefused } from "../../../workspaces/history/report-file.js";
import { readReport } from "../../../workspaces/history/reports.js";
import {
  appStoreFinance,
  appStoreSales,
  playEarnings,
  playSales,
} from "../../harness/store-reports.js";
import { zipOf } from "../../harness/zip.js";

const app = { SKU: "app1", "Product Type Identifier": "1F", "Apple Identifier": "77", Units: "5" };
const free = { ...app, "Customer Price": "0", "Developer Proceeds": "0" };
const euros = { "Customer Currency": "EUR", "Currency of Proceeds": "EUR" };
const gold = {
  ...euros,
  SKU: "gold",
  "Product Type Identifier": "IAY",
  "Parent Identifier": "app1",
  "Customer Price": "9.99",
  "Developer Proceeds": "7.13",
};
const sales = [
  { ...free, ...euros },
  { ...gold, Units: "3" },
  { ...gold, Units: "-1", "Customer Price": "-9.99", "Developer Proceeds": "-7.13" },
  { ...gold, Units: "2", "Customer Currency": "JPY", "Customer Price": "1500" },
  { ...gold, Units: "9", "Parent Identifier": "another" },
];
const sold = { "Vendor Identifier": "gold", "Partner Share Currency": "USD", ...euros };
const finance = [
  { ...sold, Quantity: "3", "Extended Partner Share": "21.39", "Customer Price": "9.99" },
  {
    ...sold,
    Quantity: "-1",
    "Extended Partner Share": "-7.13",
    "Customer Price": "9.99",
    "Sale or Return": "R",
  },
];
const ordered = {
  "Financial Status": "Charged",
  "Product ID": "com.example.app",
  "SKU ID": "gold",
  "Currency of Sale": "KRW",
  "Charged Amount": "12,100",
};
const play = [
  ordered,
  ordered,
  { ...ordered, "Financial Status": "Refund", "Charged Amount": "-12,100" },
  { ...ordered, "Product ID": "com.example.other" },
];
const charged = {
  "Transaction Type": "Charge",
  "Product id": "com.example.app",
  "Sku Id": "gold",
  "Buyer Currency": "EUR",
  "Amount (Buyer Currency)": "8.39",
  "Merchant Currency": "USD",
  "Amount (Merchant Currency)": "9.13",
};
const fee = { "Amount (Buyer Currency)": "-1.26", "Amount (Merchant Currency)": "-1.37" };
const earnings = [
  charged,
  { ...charged, "Transaction Type": "Tax", "Amount (Buyer Currency)": "1.60" },
  { ...charged, ...fee, "Transaction Type": "Google fee" },
];

const providers = { apple: createApple(), google: createGoogle() };
const credentials = {
  apple: [{ bundle_id: "com.example.app", app_apple_id: 77 }],
  google: [{ package_name: "com.example.app" }],
};
const read = (store: "apple" | "google", file: Buffer | string): Promise<StoreReport> =>
  readReport(Buffer.from(file), providers[store], { credentials: credentials[store] });

describe("Reports of the app stores", () => {
  it("should be read from an App Store sales report, packed as it is downloaded", async () => {
    expect(await read("apple", gzipSync(appStoreSales(sales)))).to.deep.equal({
      kind: "sales",
      month: "2026-03",
      // In California: winter time at first, summer time at last.
      from: Date.parse("2026-03-01T08:00:00Z"),
      to: Date.parse("2026-04-01T07:00:00Z"),
      lines: 5,
      sums: [
        { product: "gold", currency: "EUR", paid: 2997n, refunded: 999n },
        { product: "gold", currency: "JPY", paid: 3000n, refunded: 0n },
      ],
      proceeds: [{ currency: "EUR", amount: 713n * 4n }],
      leftOut: [
        { why: "free", lines: 1 },
        { why: "of another app", lines: 1 },
      ],
    });
  });

  it("should be read from an App Store financial report that adds up", async () => {
    const totals = { Total_Rows: "2", Total_Amount: "14.26", Total_Units: "2" };
    const found = await read("apple", appStoreFinance(finance, totals));
    expect(found).to.include({ kind: "finance", month: "2026-03", lines: 2 });
    expect(found.sums).to.deep.equal([
      { product: "gold", currency: "EUR", paid: 2997n, refunded: 999n },
    ]);
    expect(found.proceeds).to.deep.equal([{ currency: "USD", amount: 1426n }]);
  });

  const encodings: [string, (text: string) => Buffer][] = [
    ["UTF-8", (text) => Buffer.from(text)],
    ["UTF-16", (text) => Buffer.from(`\u{feff}${text}`, "utf16le")],
    ["UTF-16, swapped", (text) => Buffer.from(`\u{feff}${text}`, "utf16le").swap16()],
    ["a zip file", (text) => zipOf([["salesreport_202603.csv", Buffer.from(text)]])],
  ];
  for (const [title, encode] of encodings) {
    it(`should be read from Google Play's estimated sales in ${title}`, async () => {
      const found = await read("google", encode(playSales(play)));
      expect(found).to.include({
        kind: "estimated_sales",
        month: "2026-03",
        from: Date.parse("2026-03-01T00:00:00Z"),
      });
      expect(found.sums).to.deep.equal([
        { product: "gold", currency: "KRW", paid: 24200n, refunded: 12100n },
      ]);
      expect(found.leftOut).to.deep.equal([{ why: "of another app", lines: 1 }]);
    });
  }

  it("should be read from Google Play's earnings: what customers paid, what is left", async () => {
    const found = await read("google", playEarnings(earnings));
    expect(found).to.include({ kind: "earnings", from: Date.parse("2026-03-01T08:00:00Z") });
    expect(found.sums).to.deep.equal([
      { product: "gold", currency: "EUR", paid: 999n, refunded: 0n },
    ]);
    expect(found.proceeds).to.deep.equal([{ currency: "USD", amount: 913n + 913n - 137n }]);
  });

  const packed = gzipSync(appStoreSales(sales));
  const zip = zipOf([["a.csv", Buffer.from(playSales(play))]]);
  const flipped = Buffer.from(zip).fill(0, 60, 64);
  const refused: [string, "apple" | "google", Buffer | string, RegExp][] = [
    ["a gzip file that is cut off", "apple", packed.subarray(0, -9), /unexpected end of file/],
    ["a zip file that is cut off", "google", zip.subarray(0, -9), /zip file is cut off/],
    ["a zip file that is damaged", "google", flipped, /cannot be read|is damaged/],
    [
      "two files in a zip",
      "google",
      zipOf([
        ["a.csv", zip],
        ["b.csv", zip],
      ]),
      /one CSV file in it/,
    ],
    ["another encoding", "apple", Buffer.from("M\u{fc}ller", "latin1"), /not valid|cannot be read/],
    ["UTF-16 that does not say so", "google", Buffer.from("a,b\n", "utf16le"), /neither in UTF-8/],
    ["foreign columns", "apple", "a\tb\n1\t2\n", /columns .*as a financial report/],
    ["foreign columns", "google", "a,b\n1,2\n", /neither the columns of estimated sales/],
    ["a line that is cut off", "google", `${playSales(play)}GPA.1,2026`, /no whole CSV/],
    ["a line that is cut off", "apple", `${appStoreSales(sales)}APPLE\tUS\n`, /line 7 has 2 cells/],
    [
      "a report of a day",
      "apple",
      appStoreSales(sales, ["03/01/2026", "03/01/2026"]),
      /not of one calendar month/,
    ],
    ["no line of the app", "apple", appStoreSales(sales.slice(1)), /no line of the app 77 itself/],
    ["no lines", "apple", appStoreSales([]), /has no lines/],
    [
      "a number of lines that is not theirs",
      "apple",
      appStoreFinance(finance, { Total_Rows: "3" }),
      /total_rows is not what its lines come to/,
    ],
    [
      "a total that is not that of its lines",
      "apple",
      appStoreFinance(finance, { Total_Rows: "2", Total_Amount: "14.27" }),
      /total_amount is not what its lines come to/,
    ],
    [
      "a fiscal quarter",
      "apple",
      appStoreFinance(finance, { Total_Rows: "2" }, ["03/01/2026", "05/30/2026"]),
      /not of one fiscal month/,
    ],
  ];
  for (const [title, store, file, why] of refused) {
    it(`should refuse ${title} (${store})`, async () => {
      const found = await read(store, file).catch((error: unknown) => error);
      expect(found).to.be.instanceOf(ReportRefused);
      expect(String(found))
        .to.match(why)
        .and.not.match(/gold|GPA\.1/);
    });
  }
});
