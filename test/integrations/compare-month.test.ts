/** What a month's comparison says of payments on both sides, as a table: pure. */
import { expect } from "chai";
import { limits } from "../../config.js";
import type { ListedPayment } from "../../providers/backfill.js";
import {
  type BookedPayment,
  monthReport,
  pairsOf,
} from "../../processors/reconcile/compare-month.js";
import { disputePairsOf } from "../../processors/reconcile/disputes.js";
import { cell, minorUnits, momentOf, rowsOf } from "../model/tables/table.js";

/** "MM-DD" or "MM-DD hh:mm" of the year. */
const on = (text: string): number => momentOf(`2026-${text}`);
const month = { from: on("05-01"), to: on("06-01") };
/** When the list was read: half past ten on the last day of the month. */
const listedSince = on("05-31 10:30");

const sideShape = /^(\S+) (\w{3})(?: -(\S+))?$/;

/** `1000 EUR -400`: minor units paid and refunded, or taken and given back; `-`: nothing. */
function paymentOf(
  text: string,
  given: Pick<ListedPayment, "payment" | "dispute" | "at">,
): ListedPayment | null {
  if (text === "-") return null;
  const [, amount = "", currency = "", refunded = "0"] = sideShape.exec(text) ?? [];
  return { ...given, currency, amount: minorUnits(amount), refunded: minorUnits(refunded) };
}

function bookedOf(payment: ListedPayment, recordedAt: number, also: string): BookedPayment {
  return {
    ...payment,
    transaction: `tx_${payment.payment}`,
    event: "evt_1",
    recordedAt,
    isRefundAlone: also === "refund alone",
  };
}

async function reportOf(row: Readonly<Record<string, string>>) {
  const id = cell(row, "id");
  const isDispute = id.startsWith("du_");
  const also = cell(row, "also");
  const disputed = also === "of an invoice" ? "in_1" : "pi_1";
  const named = isDispute ? { payment: disputed, dispute: id } : { payment: id };
  const given = { ...named, at: on(cell(row, "paid")) };
  const listed = paymentOf(cell(row, "listed"), given);
  const booked = paymentOf(cell(row, "booked"), given);
  const received = also.startsWith("at ") ? on(also.slice("at ".length)) : given.at;
  const became = (["rejected", "mirrored"] as const).find((word) => also === word);
  const pairs = await (isDispute ? disputePairsOf : pairsOf)(
    listed === null ? [] : [listed],
    booked === null ? [] : [bookedOf(booked, received, also)],
    month,
  );
  return monthReport(pairs, {
    listedSince,
    webhooksSince: also === "no webhook" ? null : on("05-10"),
    read: [{ from: on("05-03"), to: on("05-05") }],
    unbooked: new Map(became === undefined ? [] : [[id, became]]),
    canBeListed: (payment) => !payment.startsWith("in_"),
    transactions: new Map([["pi_1", "tx_pi_1"]]),
  });
}

describe("A month beside the provider's list", () => {
  const cases = rowsOf(`
    id   | paid        | listed        | booked         | also           | reason            | score
    pi_1 | 05-12       | 1000 EUR      | 1000 EUR       |                | agrees            | 100
    pi_1 | 05-12       | 1000 EUR -400 | 1000 EUR -400  |                | agrees            | 100
    pi_1 | 05-12       | 1000 EUR      | -              |                | not_told          | 0
    pi_1 | 05-12       | 1000 EUR      | 999 EUR        |                | amount_differs    | 99.9
    pi_1 | 05-12       | 1000 EUR -400 | 1000 EUR       |                | amount_differs    | 71.42
    pi_1 | 05-12       | 1000 EUR      | 1000 USD       |                | other_currency    | 0
    pi_1 | 05-12       | -             | 1000 EUR       |                | not_at_provider   | 0
    pi_1 | 05-12       | 1000 EUR      | -              | rejected       | rejected          | 0
    pi_1 | 05-12       | 1000 EUR      | -              | mirrored       | mirrored          | 0
    pi_1 | 05-12       | 1000 EUR -400 | 1000 EUR       | rejected       | rejected          | 71.42
    # Webhooks began on May 10; of the days before, some were read.
    pi_1 | 05-09       | 1000 EUR      | -              |                | before_connection | 0
    pi_1 | 05-04       | 1000 EUR      | -              |                | not_told          | 0
    pi_1 | 05-04       | 1000 EUR      | -              | no webhook     | not_told          | 0
    pi_1 | 05-12       | 1000 EUR      | -              | no webhook     | before_connection | 0
    # What happened around the reading is a matter of time.
    pi_1 | 05-31 09:31 | 1000 EUR      | -              |                | told_later        | -
    pi_1 | 05-31 09:30 | 1000 EUR      | -              |                | not_told          | 0
    pi_1 | 05-31       | 1000 EUR      | 1000 EUR -400  | at 05-31 10:30 | told_later        | -
    pi_1 | 05-31       | 1000 EUR      | 1000 EUR       | at 05-31 10:30 | agrees            | 100
    pi_1 | 05-31 10:31 | -             | 1000 EUR       | at 05-31 10:32 | told_later        | -
    # What no list has.
    in_1 | 05-12       | -             | 1000 EUR       |                | not_listed        | -
    pi_1 | 05-12       | -             | 1000 EUR -1000 | refund alone   | not_listed        | -
    # Of other months only what the other side has in this one.
    pi_1 | 06-01       | 1000 EUR      | -              |                | agrees            | -
    pi_1 | 04-30       | -             | 1000 EUR       |                | agrees            | -
    # Money that a dispute took, and money that came back.
    du_1 | 05-12       | 1000 EUR      | 1000 EUR       |                | agrees            | 100
    du_1 | 05-12       | 0 EUR -1000   | 0 EUR -1000    |                | agrees            | 100
    du_1 | 05-12       | 1000 EUR      | -              |                | not_told          | 0
    du_1 | 05-12       | 0 EUR -1000   | -              |                | not_told          | 0
    du_1 | 05-12       | 0 EUR -1000   | 0 EUR -600     |                | amount_differs    | 60
    du_1 | 05-12       | 1000 EUR      | 1000 USD       |                | other_currency    | 0
    du_1 | 05-12       | -             | 1000 EUR       |                | not_at_provider   | 0
    du_1 | 05-12       | -             | 1000 EUR       | of an invoice  | not_listed        | -
    du_1 | 05-12       | 1000 EUR      | -              | rejected       | rejected          | 0
    du_1 | 05-12       | 1000 EUR      | -              | mirrored       | mirrored          | 0
    du_1 | 05-09       | 1000 EUR      | -              |                | before_connection | 0
    du_1 | 05-31 09:31 | 1000 EUR      | -              |                | told_later        | -
    du_1 | 06-01       | 1000 EUR      | -              |                | agrees            | -
    du_1 | 04-30       | -             | 1000 EUR       |                | agrees            | -
  `);
  for (const row of cases) {
    const [listed, booked] = [cell(row, "listed"), cell(row, "booked")];
    const reason = cell(row, "reason");
    const what = `${listed} listed and ${booked} booked on ${cell(row, "paid")}`;
    it(`should find of ${cell(row, "id")}, ${what}, ${cell(row, "also")}: ${reason}`, async () => {
      const report = await reportOf(row);
      const reasons = report.differences.map((difference) => difference.reason);
      expect(reasons).to.deep.equal(reason === "agrees" ? [] : [reason]);
      const refund = listed.split(" -")[0] === booked.split(" -")[0] ? "refund" : "payment";
      const kind = cell(row, "id") === "du_1" ? "dispute" : refund;
      expect(report.kinds).to.deep.equal(reason === "agrees" ? {} : { [kind]: 1 });
      const score = cell(row, "score");
      expect(report.score_pct).to.equal(score === "-" ? null : Number(score));
    });
  }

  it("should pair a payment that the sides date in two months", async () => {
    const given = { payment: "pi_1", currency: "EUR", amount: 1000n, refunded: 0n };
    const booked = bookedOf({ ...given, at: month.from - 1 }, month.from, "");
    const pairs = await pairsOf([{ ...given, at: month.from }], [booked], month);
    expect(pairs).to.have.lengthOf(1);
    expect(pairs[0]?.booked).to.equal(booked);
  });

  it("should pair a return by its amount, and by the side that dates it in the month", async () => {
    const given = { payment: "txn_1", currency: "EUR", amount: 0n, at: month.from };
    const listed = [
      { ...given, dispute: "adj_3", refunded: 400n },
      { ...given, dispute: "adj_4", refunded: 600n },
      // Of the month before, where we have it a moment later.
      { ...given, dispute: "adj_5", refunded: 500n, at: month.from - 1 },
    ];
    const booked = [
      { ...given, dispute: "adj_1", refunded: 600n },
      { ...given, dispute: "adj_2", refunded: 500n },
      { ...given, dispute: "adj_2:2", refunded: 300n },
    ].map((one) => bookedOf(one, month.from, ""));
    const pairs = await disputePairsOf(listed, booked, month);
    const amounts = pairs.map((pair) => [pair.listed?.refunded, pair.booked?.refunded].join(" "));
    expect(amounts).to.deep.equal(["400 300", "600 600"]);
  });

  it("should keep the largest rows, and count and add up all of them", async () => {
    const listed = Array.from({ length: limits.differencesPerMonthMax + 5 }, (_, number) => ({
      payment: `pi_${number}`,
      at: on("05-12"),
      currency: number === 0 ? "JPY" : "EUR",
      amount: BigInt(number + 1),
      refunded: 0n,
    }));
    const [first, second] = listed;
    if (first === undefined || second === undefined) throw new Error("no payments");
    const report = await monthReport(
      await pairsOf(listed, [bookedOf(second, on("05-12"), "")], month),
      {
        listedSince,
        webhooksSince: month.from,
        read: [],
        unbooked: new Map(),
        canBeListed: () => true,
        transactions: new Map(),
      },
    );
    expect(report.differences_total).to.equal(listed.length - 1);
    expect(report.reasons).to.deep.equal({ not_told: listed.length - 1 });
    expect(report.left_out).to.equal(4);
    expect(report.differences).to.have.lengthOf(limits.differencesPerMonthMax);
    expect(report.differences[0]).to.deep.equal({
      payment: `pi_${listed.length - 1}`,
      dispute: null,
      transaction: null,
      at: "2026-05-12T00:00:00.000Z",
      reason: "not_told",
      listed: { currency: "EUR", amount_minor: listed.length, refunded_minor: 0 },
      booked: null,
    });
    const sum = (listed.length * (listed.length + 1)) / 2;
    expect(report).to.include({ agreed_minor: 2, compared_minor: sum });
    expect(report.currencies.map(({ currency, exponent }) => [currency, exponent])).to.deep.equal([
      ["EUR", 2],
      ["JPY", 0],
    ]);
    const [euro] = report.currencies;
    const rest = { refunded_minor: 0, disputed_minor: 0, reinstated_minor: 0 };
    expect(euro?.listed).to.deep.equal({
      count: listed.length - 1,
      amount_minor: sum - 1,
      ...rest,
    });
    expect(euro?.booked).to.deep.equal({ count: 1, amount_minor: 2, ...rest });
  });
});
