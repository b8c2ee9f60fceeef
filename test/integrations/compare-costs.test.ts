/** Fees and taxes of a month on both sides, as a table: pure. */
import { expect } from "chai";
import { comparedCosts } from "../../processors/reconcile/compare-costs.js";
import type { Pair } from "../../processors/reconcile/compare-month.js";
import { cell, minorUnits, rowsOf } from "../model/tables/table.js";

const at = Date.UTC(2026, 4, 12);
const listedSince = at + 1_000;

/** `30 5`: fee and tax in minor units; `-`: nobody reports it. */
function costsIn(text: string): { readonly fee: bigint | null; readonly tax: bigint | null } {
  const [fee = "-", tax = "-"] = text.split(" ");
  const of = (one: string) => (one === "-" ? null : minorUnits(one));
  return { fee: of(fee), tax: of(tax) };
}

function pairOf(row: Readonly<Record<string, string>>): Pair {
  const paid = { payment: cell(row, "id"), at, amount: 1_000n, refunded: 0n };
  const also = cell(row, "also");
  return {
    listed: { ...paid, currency: "EUR", ...costsIn(cell(row, "listed")) },
    booked: {
      ...paid,
      currency: also === "in USD" ? "USD" : "EUR",
      ...costsIn(cell(row, "booked")),
      transaction: `tx_${paid.payment}`,
      event: "evt_1",
      recordedAt: also === "newer" ? listedSince : at,
      isRefundAlone: false,
    },
  };
}

describe("Fees and taxes beside the provider's list", () => {
  const cases = rowsOf(`
    id   | listed | booked | also   | compared               | differs
    pi_1 | 30 -   | 30 -   |        | fee 1 30 30 0          | -
    pi_1 | 30 5   | 30 5   |        | fee 1 30 30 0, tax 1 5 5 0 | -
    pi_1 | 30 -   | 29 -   |        | fee 1 30 29 1          | fee 30 29
    pi_1 | 30 -   | - -    |        | fee 1 30 0 1           | fee 30 null
    pi_1 | 30 5   | 30 7   |        | fee 1 30 30 0, tax 1 5 7 1 | tax 5 7
    # Nothing is nothing, whether it is said or not.
    pi_1 | 0 -    | - -    |        | fee 1 0 0 0            | -
    # Of what the list does not say nothing is compared, nor what is newer, nor other currencies.
    pi_1 | - -    | 30 5   |        |                        | -
    pi_1 | 30 -   | 29 -   | newer  |                        | -
    pi_1 | 30 -   | 29 -   | in USD |                        | -
  `);
  for (const row of cases) {
    const what = `${cell(row, "listed")} listed, ${cell(row, "booked")} booked`;
    it(`should find of ${what} ${cell(row, "also")}: ${cell(row, "differs")}`, async () => {
      const { costs, cost_differences: rows } = await comparedCosts([pairOf(row)], listedSince);
      const compared = costs.map((one) =>
        [one.kind, one.payments, one.listed_minor, one.booked_minor, one.differing].join(" "),
      );
      expect(compared.join(", ")).to.equal(cell(row, "compared"));
      const differs = rows.map((one) => `${one.kind} ${one.listed_minor} ${one.booked_minor}`);
      expect(differs.join(", ") || "-").to.equal(cell(row, "differs"));
    });
  }
});
