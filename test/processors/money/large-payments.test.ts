/** Payments with more facts and products than anybody expects: all are booked, up to an end. */
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import { listRejects } from "../../../workspaces/rejects/rejects.js";
import type { LmdbLog } from "../../../stores/log/lmdb/lmdb-log.js";
import { limits } from "../../../config.js";
import { paymentVersions } from "../../../processors/book/payment/payment-versions.js";
import type { Fact, FactBody } from "../../../schemas/records/records.js";
import { bookingOver } from "../../harness/booking.js";
import { payment, received as receivedFacts, refund } from "../../harness/fact-bodies.js";
import { openTestClickHouse, openTestLog } from "../../harness/stores.js";

const amount = 10_000_000n;

function saleOf(products: number): FactBody {
  const lines = Array.from({ length: products }, (_, place) => ({
    external_id: `prod_${place}`,
    weight: 1_000n + BigInt(place),
  }));
  return payment({ payment: "pi", at: 1_000, amount, lines });
}

/** Each of an event of its own, received in that order. */
function received(workspace: string, bodies: readonly FactBody[]): Fact[] {
  return receivedFacts(bodies, (_body, place) => {
    const event = `e${String(place).padStart(5, "0")}`;
    return {
      fact_id: `${event}:0`,
      event_id: event,
      workspace,
      offset: BigInt(place),
      native_type: "charge.refunded",
      received_at: 1_000_000 + place,
      happened_at: 1_000 + place,
    };
  });
}

function refundsOf(count: number): FactBody[] {
  return Array.from({ length: count }, (_, place) =>
    refund({ refund: `rë${place}`, payment: "pi", at: 2_000 + place, amount: 9_000n }),
  );
}

describe("What is recorded of a large payment", () => {
  it("should be the same sums whether its sale comes first or last", () => {
    const [sale, refunds] = [saleOf(40), refundsOf(30)];
    const sums = (bodies: readonly FactBody[]): Map<string, bigint> => {
      const found = new Map<string, bigint>();
      for (const row of paymentVersions("pi", received("w", bodies)).ledger) {
        const place = `${row.entry} ${row.external_id}`;
        const sum = (found.get(place) ?? 0n) + row.amount;
        if (sum === 0n) found.delete(place);
        else found.set(place, sum);
      }
      return found;
    };
    const first = sums([sale, ...refunds]);
    expect(first.size).to.equal(40 * 31);
    expect(sums([...refunds, sale])).to.eql(first);
  });

  it("should end at as many ledger rows as one payment may have, and never within a fact", () => {
    const products = 1_000;
    const refunds = limits.ledgerRowsPerPaymentMax / products;
    const facts = received("w", [saleOf(products), ...refundsOf(refunds)]);
    const { ledger, beyond } = paymentVersions("pi", facts);
    expect(ledger).to.have.length(limits.ledgerRowsPerPaymentMax);
    expect(beyond).to.eql(facts.slice(-1));
  });
});

describe("Booking large payments", () => {
  let clickhouse: ClickHouse;
  let log: LmdbLog;
  before(async () => {
    clickhouse = await openTestClickHouse();
    log = openTestLog("large-payments");
  });

  const open = () => bookingOver(clickhouse, log);

  it("should write the ledger in parts, and nothing twice", async () => {
    const workspace = `ws_${randomUUID()}`;
    // More text than one block has (table-writer.ts).
    const facts = received(workspace, [saleOf(1_000), ...refundsOf(60)]);
    const booking = open();
    await booking.book(facts);
    const [written] = await sumsOf(clickhouse, workspace);
    expect(written).to.eql({ rows: String(1_000 * 61), amount: String(amount - 60n * 9_000n) });
    await booking.book(facts);
    expect(await sumsOf(clickhouse, workspace)).to.eql([written]);
  });

  it("should reject what is beyond, and book others of the batch", async () => {
    const workspace = `ws_${randomUUID()}`;
    const many = received(workspace, [saleOf(1), ...refundsOf(limits.factsPerPaymentMax + 1)]);
    const other = received(workspace, [saleOf(1)]).map((fact): Fact => {
      if (!("Payment" in fact.body)) throw new Error("a sale is a payment");
      const body = { Payment: { ...fact.body.Payment, payment: "other" } };
      return { ...fact, fact_id: "z:0", event_id: "z", body };
    });
    await open().book([...many, ...other]);
    const filter = { workspace, state: "open" } as const;
    const rejects = await listRejects(clickhouse, filter, null, 10);
    expect(
      rejects.map(({ event_id, step, reason, offset }) => [event_id, step, reason, offset]),
    ).to.eql([
      ["e01001", "book", "payment_too_large", "1001"],
      ["e01000", "book", "payment_too_large", "1000"],
    ]);
    const refunds = BigInt(limits.factsPerPaymentMax - 1) * 9_000n;
    const [booked] = await sumsOf(clickhouse, workspace);
    expect(booked?.amount).to.equal(String(2n * amount - refunds));
  });
});

/** Of what is recorded, repeats of a row added up. */
function sumsOf(
  clickhouse: ClickHouse,
  workspace: string,
): Promise<{ rows: string; amount: string }[]> {
  return clickhouse.rows(
    `SELECT count() AS rows, sum(amount) AS amount FROM ledger
     WHERE workspace = {workspace:String}`,
    { workspace },
  );
}
