/** What Stripe's lists say of disputes and taxes for a comparison, as tables: pure. */
import { expect } from "chai";
import type { HistoryList } from "../../../providers/backfill.js";
import {
  disputedMoney,
  invoiceTaxes,
  sessionTaxes,
} from "../../../providers/stripe/history/compared.js";
import { cell, rowsOf } from "../../model/tables/table.js";

function read(list: HistoryList, object: object) {
  const answer = { object: "list", data: [{ id: "one", ...object }], has_more: true };
  const page = list.read(answer, 0, { from: 0, to: 1 });
  if (page === null) throw new Error("no page");
  expect(page).to.include({ objects: 1, next: "one" });
  return page;
}

/** `600 usd`, in Stripe's minor units. */
function moneyIn(text: string) {
  const [amount = "", currency = ""] = text.split(" ");
  return { amount: Number(amount), currency };
}

describe("What Stripe lists of disputes and taxes", () => {
  const moves = rowsOf(`
    category         | moved     | rate | dispute   | status         | read
    dispute          | -600 eur  | -    | 600 eur   | needs_response | 600 0 EUR
    dispute_reversal | 600 eur   | -    | 600 eur   | won            | 0 600 EUR
    dispute_reversal | 200 eur   | -    | 600 eur   | lost           | 0 200 EUR
    # The payout is in another currency: all is taken and given back, else the rate says how much.
    dispute          | -660 usd  | 1.1  | 600 eur   | needs_response | 600 0 EUR
    dispute_reversal | 655 usd   | 1.09 | 600 eur   | won            | 0 600 EUR
    dispute_reversal | 220 usd   | 1.1  | 600 eur   | lost           | 0 200 EUR
    # Two decimals at Stripe, none in ISO 4217.
    dispute          | -6000 isk | -    | 6000 isk  | needs_response | 60 0 ISK
    refund_failure   | 600 eur   | -    | 600 eur   | won            | -
  `);
  for (const row of moves) {
    const [category, moved, of] = ["category", "moved", "dispute"].map((name) => cell(row, name));
    it(`should read of ${moved} as ${category} of ${of}, ${cell(row, "status")}`, () => {
      const { payments } = read(disputedMoney, {
        ...moneyIn(cell(row, "moved")),
        created: 1_000,
        exchange_rate: cell(row, "rate") === "-" ? null : Number(cell(row, "rate")),
        reporting_category: cell(row, "category"),
        source: {
          ...moneyIn(cell(row, "dispute")),
          object: "dispute",
          id: "du_1",
          charge: "ch_1",
          payment_intent: "pi_1",
          status: cell(row, "status"),
        },
      });
      const found = payments.map((one) => `${one.amount} ${one.refunded} ${one.currency}`);
      expect(found.join() || "-").to.equal(cell(row, "read"));
      for (const one of payments) {
        expect(one).to.include({ payment: "pi_1", dispute: "du_1", at: 1_000_000 });
      }
    });
  }

  const invoices = rowsOf(`
    paid | of it | total | net  | tax
    1190 | 1190  | 1190  | 1000 | 190
    1190 | 1190  | 1190  | 1190 | 0
    # A credit balance paid the rest of it.
    595  | 595   | 1190  | 1000 | 95
    # By several payments: which of them paid how much of the tax is not listed.
    595  | 1190  | 1190  | 1000 | null
    1190 | 1190  | 1190  | -    | -
  `);
  for (const row of invoices) {
    const [paid, of, total, net] = ["paid", "of it", "total", "net"].map((name) =>
      cell(row, name) === "-" ? null : Number(cell(row, name)),
    );
    it(`should read the tax of ${paid} of ${total}, ${of} of which is paid`, () => {
      const { taxes = [] } = read(invoiceTaxes, {
        amount_paid: paid,
        currency: "eur",
        payment: { type: "payment_intent", payment_intent: "pi_1" },
        invoice: { id: "in_1", amount_paid: of, total, total_excluding_tax: net },
      });
      expect(taxes.map(({ tax }) => String(tax)).join() || "-").to.equal(cell(row, "tax"));
    });
  }

  it("should read the tax of a session that was paid without an invoice", () => {
    const session = { currency: "eur", payment_status: "paid", total_details: { amount_tax: 19 } };
    const taxesOf = (more: object) => read(sessionTaxes, { ...session, ...more }).taxes;
    const [tax] = taxesOf({ payment_intent: "pi_1" }) ?? [];
    expect(tax).to.deep.equal({ payment: "pi_1", purchase: "one", tax: 19n });
    expect(taxesOf({ payment_intent: null })).to.deep.equal([]);
    expect(taxesOf({ payment_intent: "pi_1", payment_status: "unpaid" })).to.deep.equal([]);
  });
});
