/** Booking money: what is written and published, in any order and after a crash. */
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type ClickHouse, StoreUnavailable } from "../../../stores/clickhouse/clickhouse.js";
import type { Log, NewRecord } from "../../../stores/log/log.js";
import type { LmdbLog } from "../../../stores/log/lmdb/lmdb-log.js";
import { limits } from "../../../config.js";
import {
  type Fact,
  type FactBody,
  factRecords,
  topics,
  transactionCodec,
  type TransactionRecord,
} from "../../../schemas/records/records.js";
import { type Booking, bookingOver } from "../../harness/booking.js";
import { factOf } from "../../harness/facts.js";
import { linesOf, payment, purchase, quoteOf, refundTotal } from "../../harness/fact-bodies.js";
import { openTestClickHouse, openTestLog } from "../../harness/stores.js";
import { latch } from "../../harness/promises.js";

const chargeAt = (at: number) => payment({ payment: "pi", at, amount: 1_000n, country: "DE" });
const charge = chargeAt(1_000);
const invoice = purchase({ lines: linesOf({ prod: 1_000n }) });
const link: FactBody = { Link: { payment: "pi", purchase: "in" } };
const refunded = refundTotal({ payment: "pi", at: 2_000, amount: 1_000n });

describe("Booking money", () => {
  let clickhouse: ClickHouse;
  before(async () => {
    clickhouse = await openTestClickHouse();
  });

  /** The facts by name, received in the order of their ids, and a process that books batches. */
  function open() {
    const workspace = `ws_${randomUUID()}`;
    const reported: TransactionRecord[] = [];
    const booking = bookingFor(clickhouse, { reported });
    const facts = {
      charge: factIn(workspace, "e1:0", 1, charge),
      refunded: factIn(workspace, "e2:0", 2, refunded),
      tie: factIn(workspace, "e3:0", 3, link),
      invoice: factIn(workspace, "e4:0", 4, invoice),
      link: factIn(workspace, "e4:1", 4, link),
    };
    return {
      facts,
      book: (...batch: Fact[]) => booking.book(batch),
      /** When each row was booked, in the order of versions and entries. */
      times: () =>
        clickhouse.rows(
          `SELECT booked_at FROM (
             SELECT fact_id, '' AS entry, booked_at FROM transactions
             WHERE workspace = {workspace:String}
             UNION ALL
             SELECT fact_id, entry, booked_at FROM ledger WHERE workspace = {workspace:String}
           ) ORDER BY fact_id, entry`,
          { workspace },
        ),
      /** What the newest row says, and the newest message. */
      newest: async () => {
        const [row] = await clickhouse.rows<Record<string, unknown>>(
          `SELECT type, status, external_id, version FROM transactions
           WHERE workspace = {workspace:String}
           ORDER BY recorded_at DESC, fact_id DESC, version DESC LIMIT 1`,
          { workspace },
        );
        const message = reported.toSorted((a, b) => a.version - b.version).at(-1);
        const { type, status, external_id, version } = message ?? {};
        return { row, message: { type, status, external_id, version } };
      },
    };
  }

  it("should keep the times of the first booking when a batch is repeated", async () => {
    const { facts, book, times } = open();
    await book(facts.charge, facts.refunded);
    const first = await times();
    expect(first).to.have.lengthOf(4);
    await book(facts.charge, facts.refunded);
    await book(facts.refunded);
    expect(await times()).to.eql(first);
  });

  it("should hide what was made of a link without the purchase it names", async () => {
    const { facts, book, newest } = open();
    await book(facts.charge, facts.tie, facts.link);
    await book(facts.refunded);
    // Its link came before.
    await book(facts.invoice, facts.link);
    const expected = {
      type: "subscription",
      status: "refunded",
      external_id: "prod",
      version: 5,
    };
    expect(await newest()).to.eql({ row: expected, message: expected });
  });

  it("should come to the same in whatever order and however often they are booked", async () => {
    for (const order of [
      ["charge", "invoice", "link", "refunded"],
      ["refunded", "link", "charge", "invoice"],
      ["link", "invoice", "link", "refunded", "charge"],
      ["invoice", "link", "refunded", "link", "charge", "invoice"],
    ] as const) {
      const { facts, book, newest } = open();
      for (const name of order) await book(facts[name]);
      const { row, message } = await newest();
      expect(row).to.include({ type: "subscription", status: "refunded", external_id: "prod" });
      expect(message).to.eql(row);
    }
  });
});

describe("Booking a payment whose readings date it differently", () => {
  it("should list it once, whichever is first", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const booking = bookingFor(clickhouse);
    const order = factIn(workspace, "e1:0", 1, chargeAt(5_000));
    const invoiced = factIn(workspace, "e2:0", 2, chargeAt(7_000));
    // Two endpoints: what was received later is on the topic first.
    await booking.book([invoiced]);
    await booking.book([order]);
    await booking.book([order, invoiced]);
    const places = await placesOf(clickhouse, workspace);
    const entries = await clickhouse.rows(
      `SELECT toUnixTimestamp64Milli(happened_at) AS at, sum(amount) AS amount FROM ledger
       WHERE workspace = {workspace:String} GROUP BY happened_at HAVING amount != 0`,
      { workspace },
    );
    expect({ places, entries }).to.eql({
      places: [{ at: "7000" }],
      entries: [{ at: "7000", amount: "1000" }],
    });
  });
});

describe("Rows of a process that was killed before they were written", () => {
  it("should be written by the next one, once", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const order = factIn(workspace, "e1:0", 1, chargeAt(5_000));
    const refund = factIn(workspace, "e2:0", 2, refunded);
    const [killed, kill] = latch();
    const log = newLog();
    const stuck: ClickHouse = {
      ...clickhouse,
      append: async (batch) => {
        if (batch.table === "transactions") return clickhouse.append(batch);
        kill();
        return new Promise<never>(() => {});
      },
    };
    const dying = bookingFor(stuck, { log });
    const first = dying.end;
    await dying.begin([order]);
    await killed;
    const next = bookingFor(clickhouse, { log });
    // As the consumer does, from the offset that did not move.
    await (
      await next.again([order], first)
    )?.finished;
    await next.book([refund]);
    expect(await placesOf(clickhouse, workspace)).to.eql([{ at: "5000" }]);
    expect(await soldIn(clickhouse, workspace)).to.eql(["refund -1000", "sale 1000"]);
  });
});

describe("Rows that ClickHouse refuses for a while", () => {
  it("should be written later, once, while booking goes on", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    let failures = 3;
    const reported: TransactionRecord[] = [];
    const booking = bookingFor(
      {
        ...clickhouse,
        append: async (batch) => {
          // The last of them is there, and nobody is told.
          if (failures === 1) await clickhouse.append(batch);
          failures -= 1;
          if (failures >= 0) throw new StoreUnavailable();
          return clickhouse.append(batch);
        },
      },
      { reported },
    );
    const facts = [
      factIn(workspace, "e1:0", 1, chargeAt(5_000)),
      factIn(workspace, "e2:0", 2, refunded),
    ];
    const left = [];
    for (const fact of facts) left.push(await booking.begin([fact]));
    expect(reported.map(({ version }) => version)).to.eql([1, 2]);
    for (const one of left) await one?.finished;
    expect(await placesOf(clickhouse, workspace)).to.eql([{ at: "5000" }]);
    expect(await soldIn(clickhouse, workspace)).to.eql(["refund -1000", "sale 1000"]);
  });
});

describe("Rows that were lost", () => {
  it("should be made again by a replay", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const booking = bookingFor(clickhouse);
    const facts = [
      factIn(workspace, "e1:0", 1, chargeAt(5_000)),
      factIn(workspace, "e2:0", 2, refunded),
    ];
    await booking.book(facts);
    for (const table of ["transactions", "ledger", "money_facts"]) {
      await clickhouse.write(
        `ALTER TABLE ${table} DELETE WHERE workspace = {workspace:String}
         SETTINGS mutations_sync = 2`,
        { workspace },
      );
    }
    await booking.book(facts.map((fact) => ({ ...fact, received_at: fact.received_at + 60_000 })));
    expect(await soldIn(clickhouse, workspace), "another delivery").to.eql([]);
    for (const _ of ["once", "again"]) {
      await booking.book(facts);
      expect(await soldIn(clickhouse, workspace)).to.eql(["refund -1000", "sale 1000"]);
      expect(await placesOf(clickhouse, workspace)).to.eql([{ at: "5000" }]);
    }
  });
});

describe("A state that was lost, or never was", () => {
  it("should be read from the tables, a book when its next fact comes", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const order = factIn(workspace, "e1:0", 1, chargeAt(5_000));
    await bookingFor(clickhouse).book([order]);
    const next = bookingFor(clickhouse);
    await next.book([factIn(workspace, "e2:0", 2, refunded)]);
    await next.book([order]);
    expect(await soldIn(clickhouse, workspace)).to.eql(["refund -1000", "sale 1000"]);
    expect(await placesOf(clickhouse, workspace)).to.eql([{ at: "5000" }]);
  });
});

describe("A fact that lies where its book does not", () => {
  it("should be appended again, to the partition of its book, and booked there alone", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const appended: NewRecord[] = [];
    const append: Log["append"] = async (topic, records) => {
      if (topic === topics.facts) appended.push(...records);
      return [];
    };
    const order = factIn(workspace, "e1:0", 1, chargeAt(5_000));
    const elsewhere = { append, partitionOf: () => 1 };
    await bookingOver(clickhouse, newLog(), elsewhere).book([order]);
    expect(appended.map(({ value }) => factRecords.decode(value).fact_id)).to.eql(["e1:0"]);
    expect(await soldIn(clickhouse, workspace)).to.eql([]);
    await bookingOver(clickhouse, newLog()).book([order]);
    expect(await soldIn(clickhouse, workspace)).to.eql(["sale 1000"]);
  });
});

/** What is in the ledger, by kind. */
async function soldIn(clickhouse: ClickHouse, workspace: string): Promise<string[]> {
  const rows = await clickhouse.rows<{ kind: string; amount: string }>(
    `SELECT kind, toString(sum(amount)) AS amount FROM ledger
     WHERE workspace = {workspace:String} GROUP BY kind ORDER BY kind`,
    { workspace },
  );
  return rows.map(({ kind, amount }) => `${kind} ${amount}`);
}

/** Under which times its transactions are listed. */
function placesOf(clickhouse: ClickHouse, workspace: string): Promise<unknown[]> {
  return clickhouse.rows(
    `SELECT DISTINCT toUnixTimestamp64Milli(timestamp) AS at FROM transactions
     WHERE workspace = {workspace:String}`,
    { workspace },
  );
}

describe("Booking the invoices of a subscription", () => {
  it("should book one after however many events, and leave it alone after more", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const reported: TransactionRecord[] = [];
    const booking = bookingFor(clickhouse, { reported });
    const days = limits.factsPerPaymentMax + 200;
    const subscription = (day: number, product: string): Fact =>
      factIn(
        workspace,
        `s${String(day).padStart(5, "0")}:0`,
        day,
        purchase({ lines: linesOf({ [product]: 1n }) }),
      );
    const events = Array.from({ length: days }, (_, day) => subscription(day + 1, "prod"));
    await booking.book(events);
    const paid = factIn(workspace, "t1:0", days + 1, charge);
    const asOf = factIn(workspace, "t1:1", days + 1, {
      Link: { payment: "pi", purchase: "in", as_of: days * 1_000 },
    });
    await booking.book([paid, asOf]);
    expect(reported.map(({ external_id, type }) => [external_id, type])).to.eql([
      ["prod", "subscription"],
    ]);
    await booking.book([subscription(days + 2, "other")]);
    expect(reported, "messages after a later event").to.have.length(1);
  });
});

describe("A message about a payment whose invoice is on its way", () => {
  const invoiced = payment({ ...charge.Payment, invoiced: true });
  /** A message waits from the receipt on: whatever a busy machine does meanwhile. */
  const soon = Math.floor(Date.now() / 1_000) + 600;
  const justNow = (): number => Date.now() / 1_000;

  async function open() {
    const workspace = `ws_${randomUUID()}`;
    const reported: TransactionRecord[] = [];
    const clickhouse = await openTestClickHouse();
    const log = newLog();
    const start = (): Booking => bookingFor(clickhouse, { reported, log });
    return {
      booking: start(),
      start,
      fact: (id: string, body: FactBody, second: number) => factIn(workspace, id, second, body),
      said: () => reported.map(({ type, external_id }) => [type, external_id]),
      areFirst: () => reported.map(({ first }) => first),
    };
  }

  it("should not be sent when the next one comes soon, which is the first then", async () => {
    const { booking, fact, said, areFirst } = await open();
    const left = await booking.begin([fact("e1:0", invoiced, soon)]);
    expect(said()).to.eql([]);
    await booking.book([fact("e2:0", invoice, soon), fact("e2:1", link, soon)]);
    expect(said()).to.eql([["subscription", "prod"]]);
    await left?.finished;
    expect(said()).to.eql([["subscription", "prod"]]);
    await booking.book([fact("e3:0", refunded, soon)]);
    expect(areFirst()).to.eql([true, false]);
  });

  it("should be the first also when its process dies while a newer one waits", async () => {
    const { booking, start, fact, areFirst } = await open();
    await booking.begin([fact("e1:0", invoiced, soon)]);
    await booking.begin([fact("e2:0", refunded, soon)]);
    // This commit says what is published, so that it leaves the outbox.
    await booking.begin([fact("e3:0", payment({ ...charge.Payment, payment: "other" }), soon)]);
    expect(areFirst(), "the other payment").to.eql([true]);
    await start().book([fact("e4:0", invoice, soon), fact("e4:1", link, soon)]);
    // What was left, commit by commit: those that waited, the other payment's again; then the new.
    expect(areFirst().slice(1)).to.eql([true, false, true, false]);
    await booking.close();
  });

  it("should be the first when its invoice was booked before, and received later", async () => {
    const { booking, fact, said, areFirst } = await open();
    await booking.book([fact("e2:0", invoice, soon + 2)]);
    await booking.book([fact("e3:0", link, soon + 3)]);
    expect(said()).to.eql([]);
    await booking.book([fact("e1:0", charge, soon)]);
    expect([said(), areFirst()]).to.eql([[["subscription", "prod"]], [true]]);
  });

  it("should be sent before its offset moves when nothing comes", async () => {
    const { booking, fact, said } = await open();
    await booking.book([fact("e1:0", invoiced, justNow())]);
    expect(said()).to.eql([["one_time", ""]]);
  });

  const atOnce: [what: string, body: FactBody, second: number][] = [
    ["of a payment without an invoice", charge, soon],
    ["of a payment received long ago", invoiced, soon - 1_200],
    [
      "that names what was bought",
      payment({ ...invoiced.Payment, lines: linesOf({ prod: 1_000n }) }),
      soon,
    ],
  ];
  for (const [what, body, second] of atOnce) {
    it(`should be sent at once ${what}`, async () => {
      const { booking, fact, said } = await open();
      await booking.begin([fact("e1:0", body, second)]);
      expect(said()).to.have.length(1);
    });
  }
});

/**
 * A process that books.
 * @param reported gets its messages @param log with a state of its own, when left out
 */
function bookingFor(
  clickhouse: ClickHouse,
  { reported = [], log = newLog() }: { reported?: TransactionRecord[]; log?: LmdbLog } = {},
): Booking {
  const append: Log["append"] = async (topic, records) => {
    if (topic !== topics.transactions) return [];
    reported.push(...records.map(({ value }) => transactionCodec.decode(value)));
    return [];
  };
  return bookingOver(clickhouse, log, { append });
}

function newLog(): LmdbLog {
  return openTestLog(`book-money-${randomUUID()}`);
}

function factIn(workspace: string, id: string, second: number, body: FactBody): Fact {
  const isConverted = "Payment" in body || "RefundTotal" in body;
  return factOf(body, {
    fact_id: id,
    event_id: id.split(":")[0] ?? "",
    workspace,
    received_at: Math.floor(second * 1_000),
    happened_at: Math.floor(second * 1_000),
    quote: isConverted ? quoteOf() : null,
  });
}
