/** Lines of RevenueCat's export, read by themselves: pure, as tables. */
import { expect } from "chai";
import { type ExportedPurchase, exportFile } from "../payloads/revenuecat-export.js";
import type { Cells, ExportedLine } from "../../providers/backfill.js";
import { decode } from "../../providers/revenuecat/decode.js";
import { revenueCatExport } from "../../providers/revenuecat/export.js";
import { bodiesOf } from "../harness/decoded.js";
import { cell, momentOf, rowsOf } from "../model/tables/table.js";

/** "MM-DD" of the year. */
const on = (text: string): number => momentOf(`2026-${text}`);

const month: ExportedPurchase = {
  transaction: "2000000900",
  user: "user_9",
  product: "pro_monthly",
  start: on("01-10"),
  end: on("02-10"),
  amount: 999n,
  currency: "USD",
};

function cellsOf(purchase: ExportedPurchase, more: Readonly<Record<string, string>> = {}): Cells {
  const [head = "", line = ""] = exportFile([purchase], on("12-01")).toString().split("\n");
  // What is quoted has commas and is not read.
  const values = line.replace(/"(""|[^"])*"/g, "").split(",");
  const cells = Object.fromEntries(
    head.split(",").map((name, index) => [name, values[index] ?? ""]),
  );
  return new Map(Object.entries({ ...cells, ...more }).filter(([, text]) => text !== ""));
}

function lineIn(cells: Cells): ExportedLine {
  const line = revenueCatExport.lineOf(cells);
  if (typeof line === "string") throw new Error(line);
  return line;
}

describe("The end of a period in RevenueCat's export", () => {
  const cases = rowsOf(`
    what                    | effective | grace | next  | written | ends
    has passed              | 02-10     | -     | -     | 03-01   | 02-10
    is yet to come          | 02-10     | -     | -     | 02-09   | -
    is where the next began | 02-10     | -     | 02-10 | 03-01   | -
    is later than the next  | 02-10     | -     | 01-20 | 03-01   | -
    left a gap              | 02-10     | -     | 02-20 | 03-01   | 02-10
    came early by a refund  | 01-15     | -     | -     | 03-01   | 01-15
    came after a grace      | 02-14     | 02-14 | -     | 03-01   | 02-14
    waits for a grace       | 02-14     | 02-14 | -     | 02-12   | -
    was refunded long after | 02-25     | -     | 02-10 | 03-01   | -
    is said by no column    | -         | -     | -     | 03-01   | 02-10
  `);
  for (const row of cases) {
    it(`should be read where it ${cell(row, "what")}: ${cell(row, "ends")}`, () => {
      const timeIn = (name: string): string =>
        cell(row, name) === "-" ? "" : `2026-${cell(row, name)} 00:00:00`;
      const cells = cellsOf(month, {
        effective_end_time: timeIn("effective"),
        grace_period_end_time: timeIn("grace"),
      });
      const next = cell(row, "next");
      const beside = {
        asOf: on(cell(row, "written")),
        nextAt: next === "-" ? null : on(next),
      };
      const { events } = lineIn(cells).read(beside);
      const ends = events.flatMap(({ body }) => {
        const decoded = decode(body);
        const facts = decoded.outcome === "facts" ? decoded.facts : [];
        return facts.flatMap(({ body: fact }) =>
          "Subscription" in fact && fact.Subscription.phase === "expired"
            ? new Date(fact.Subscription.steps[0]?.at ?? 0).toISOString().slice(5, 10)
            : [],
        );
      });
      expect(ends.join() || "-").to.equal(cell(row, "ends"));
    });
  }
});

describe("The payments of a subscription in RevenueCat's export", () => {
  const cases = rowsOf(`
    what               | billing issue | unsubscribed | written | says
    says nothing       | -             | -            | 03-01   | -
    was unsubscribed   | -             | 01-20        | 03-01   | 02-10 ended_otherwise
    could not be paid  | 02-10         | -            | 03-01   | 02-10 failing; 02-10 ended_unpaid
    was given up, too  | 02-10         | 02-10        | 03-01   | 02-10 failing; 02-10 ended_unpaid
    is yet to end      | 02-09         | -            | 02-09   | 02-09 failing
  `);
  for (const row of cases) {
    it(`should be read where it ${cell(row, "what")}: ${cell(row, "says")}`, () => {
      const timeIn = (name: string): string =>
        cell(row, name) === "-" ? "" : `2026-${cell(row, name)} 00:00:00`;
      const cells = cellsOf(month, {
        billing_issues_detected_at: timeIn("billing issue"),
        unsubscribe_detected_at: timeIn("unsubscribed"),
      });
      const { events } = lineIn(cells).read({ asOf: on(cell(row, "written")), nextAt: null });
      const said = events
        .flatMap(({ body }) => bodiesOf(decode(body)))
        .flatMap((body) => ("Standing" in body ? [body.Standing] : []))
        .map(({ at, standing }) => `${new Date(at).toISOString().slice(5, 10)} ${standing}`);
      expect(said.join("; ") || "-").to.equal(cell(row, "says"));
    });
  }
});

describe("A line of RevenueCat's export", () => {
  const wrong: readonly [string, Readonly<Record<string, string>>, RegExp][] = [
    ["no time", { start_time: "10/01/2026" }, /^start_time: no time in UTC$/],
    ["no transaction", { store_transaction_id: "" }, /^store_transaction_id is missing$/],
    ["no price", { purchase_price_in_purchased_currency: "" }, /no price in the currency/],
    ["no currency", { purchased_currency: "" }, /no price in the currency/],
    ["no number", { price_in_purchased_currency: "9,99" }, /no decimal number/],
    ["another word", { is_sandbox: "maybe" }, /^is_sandbox: must be one of/],
    ["a period that is none", { end_time: "2026-01-09 00:00:00" }, /before start_time/],
  ];
  for (const [what, more, why] of wrong) {
    it(`should say what is wrong with ${what}, and not what is in it`, () => {
      const line = revenueCatExport.lineOf(cellsOf(month, more));
      expect(line)
        .to.be.a("string")
        .and.match(why)
        .and.not.match(/maybe$|9,99|10\/01/);
    });
  }

  it("should be read as versions 3 to 7 write it", () => {
    for (const more of [
      { is_sandbox: "f", is_auto_renewable: "t" },
      { start_time: "2026-01-10 00:00:00.000000" },
      { start_time: "2026-01-10T00:00:00Z" },
      { start_time: "2026-01-10 00:00:00 UTC" },
    ]) {
      const { place } = lineIn(cellsOf(month, more));
      expect(place).to.deep.include({
        at: month.start,
        thing: month.transaction,
        isSandbox: false,
      });
    }
  });

  it("should make the same events whenever it is read, and others when it says others", () => {
    const beside = { asOf: on("03-01"), nextAt: null };
    const idsOf = (cells: Cells) =>
      lineIn(cells)
        .read(beside)
        .events.map(({ nativeId }) => nativeId);
    const ids = idsOf(cellsOf(month));
    expect(ids).to.have.lengthOf(2);
    expect(idsOf(cellsOf(month, { updated_at: "2026-11-30 00:00:00" }))).to.deep.equal(ids);
    const refunded = idsOf(cellsOf(month, { refunded_at: "2026-01-20 00:00:00" }));
    expect(refunded).to.include.members(ids).and.to.have.lengthOf(3);
    expect(idsOf(cellsOf(month, { country: "DE" }))).to.not.have.members(ids);
  });
});
