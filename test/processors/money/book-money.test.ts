/** Booking beside others: partitions of the facts topic, each booked by a process of its own. */
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import type { Log } from "../../../log/log.js";
import { limits } from "../../../config.js";
import { HeldMessages } from "../../../processors/book/money/held-messages.js";
import {
  bookMoney,
  type BookingService,
  openSoleWriter,
} from "../../../processors/book/money/book-money.js";
import {
  type Fact,
  type FactBody,
  topics,
  transactionCodec,
  type TransactionRecord,
} from "../../../schemas/records/records.js";
import { bookFacts, factOf, recordsOf } from "../../harness/facts.js";
import { linesOf, payment, purchase, quoteOf, refundTotal } from "../../harness/fact-bodies.js";
import { bookingOver, openTestClickHouse, openTestLog } from "../../harness/stores.js";
import { latch, hasFailed } from "../../harness/promises.js";

const chargeAt = (at: number) => payment({ payment: "pi", at, amount: 1_000n, country: "DE" });
const charge = chargeAt(1_000);
const invoice = purchase({ lines: linesOf({ prod: 1_000n }) });
const link: FactBody = { Link: { payment: "pi", purchase: "in" } };
const refunded = refundTotal({ payment: "pi", at: 2_000, amount: 1_000n });

describe("Booking money beside others", () => {
  let clickhouse: ClickHouse;
  before(async () => {
    clickhouse = await openTestClickHouse();
  });

  /** The facts by name, received in the order of their ids, and a process that books batches. */
  function open() {
    const workspace = `ws_${randomUUID()}`;
    const reported: TransactionRecord[] = [];
    const service = serviceOver(clickhouse, { reported });
    const facts = {
      charge: factIn(workspace, "e1:0", 1, charge),
      refunded: factIn(workspace, "e2:0", 2, refunded),
      tie: factIn(workspace, "e3:0", 3, link),
      invoice: factIn(workspace, "e4:0", 4, invoice),
      link: factIn(workspace, "e4:1", 4, link),
    };
    return {
      facts,
      book: (...batch: Fact[]) => bookFacts(service, batch),
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
    // The partition of the payment has the links, and makes them anew with a late refund.
    await book(facts.charge, facts.tie, facts.link);
    await book(facts.refunded);
    // The partition of the purchase, behind the other one, has both facts of the last event.
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

describe("Booking a reading that changes nothing beside others", () => {
  it("should record what one who has not seen it leaves to it", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const opened = (write: ClickHouse["write"]) => serviceOver({ ...clickhouse, write });
    const other = serviceOver(clickhouse);
    // Reported later than the reading that counts, of an earlier moment.
    const reading = { ...factIn(workspace, "e5:0", 5, invoice), happened_at: 1_000 };
    await bookFacts(other, [factIn(workspace, "e2:0", 2, invoice)]);
    let isReported = false;
    const slow = opened(async (sql, params, lane) => {
      if (lane === "money" && !isReported) {
        isReported = true;
        await bookFacts(other, [reading]);
      }
      return clickhouse.write(sql, params, lane);
    });
    const paid = [factIn(workspace, "e3:0", 3, charge), factIn(workspace, "e3:1", 3, link)];
    await bookFacts(slow, paid);
    expect(
      await clickhouse.rows(
        "SELECT sum(amount) AS amount FROM ledger WHERE workspace = {workspace:String}",
        { workspace },
      ),
    ).to.eql([{ amount: "1000" }]);
  });
});

describe("Booking two deliveries of one event at once", () => {
  it("should record what follows from the one that is stored", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const opened = (write: ClickHouse["write"]) => serviceOver({ ...clickhouse, write });
    const early = factIn(workspace, "e1:0", 3, charge);
    const late = { ...early, received_at: 5_000 };
    const [gone, go] = latch();
    const [stopped, stop] = latch();
    // Stops before it writes to the ledger what it worked out, like a process that lost its turn.
    const slow = opened(async (sql, params, lane) => {
      if (lane === "money") {
        stop();
        await gone;
      }
      return clickhouse.write(sql, params, lane);
    });
    // Between its look and its write the slow one does both.
    const slowly: Promise<unknown>[] = [];
    const quick = opened(async (sql, params, lane) => {
      if (slowly.length === 0) slowly.push(bookFacts(slow, [late]));
      await stopped;
      return clickhouse.write(sql, params, lane);
    });
    await bookFacts(quick, [early]);
    go();
    await Promise.all(slowly);
    const receipts = async (sql: string) =>
      (await clickhouse.rows<{ at: string }>(sql, { workspace })).map(({ at }) => at);
    const stored = await receipts(
      `SELECT min(received_at) AS at FROM money_facts
       WHERE workspace = {workspace:String} GROUP BY fact_id`,
    );
    const booked = await receipts(
      `SELECT recorded_at AS at FROM ledger WHERE workspace = {workspace:String}
       GROUP BY recorded_at HAVING sum(amount) != 0`,
    );
    expect(booked).to.eql(stored);
  });
});

describe("Booking a payment whose readings date it differently", () => {
  for (const isShared of [false, true]) {
    it(`should list it once, whichever is first${isShared ? ", beside others" : ""}`, async () => {
      const clickhouse = await openTestClickHouse();
      const workspace = `ws_${randomUUID()}`;
      const service = serviceOver(clickhouse, { isShared });
      const order = factIn(workspace, "e1:0", 1, chargeAt(5_000));
      const invoiced = factIn(workspace, "e2:0", 2, chargeAt(7_000));
      // Two endpoints: what was received later is on the topic first.
      await bookFacts(service, [invoiced]);
      await bookFacts(service, [order]);
      await bookFacts(service, [order, invoiced]);
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
  }
});

describe("Booking alone, killed when versions are written and nothing else is", () => {
  it("should list the payment once, though more is on the topic when it goes on", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    const order = factIn(workspace, "e1:0", 1, chargeAt(5_000));
    const invoiced = factIn(workspace, "e2:0", 2, chargeAt(7_000));
    const [killed, kill] = latch();
    const dying = serviceOver(
      {
        ...clickhouse,
        write: (sql, params, lane) => {
          if (lane === "versions") return clickhouse.write(sql, params, lane);
          kill();
          return new Promise<never>(() => {});
        },
      },
      { isShared: false },
    );
    const soleWriter = await openSoleWriter(dying);
    // Two endpoints: what was received later is on the topic first.
    await bookMoney({ ...dying, soleWriter }, recordsOf([invoiced]));
    await killed;
    await bookFacts(serviceOver(clickhouse, { isShared: false }), [invoiced, order]);
    expect(await placesOf(clickhouse, workspace)).to.eql([{ at: "7000" }]);
  });
});

describe("Booking alone, when the rows of a batch cannot follow", () => {
  it("should list the payment once, though its next reading was in hand already", async () => {
    const clickhouse = await openTestClickHouse();
    const workspace = `ws_${randomUUID()}`;
    let failedOnce = false;
    const alone = serviceOver(
      {
        ...clickhouse,
        write(sql, params, lane) {
          if (lane !== "facts" || failedOnce) return clickhouse.write(sql, params, lane);
          failedOnce = true;
          return Promise.reject(new Error("no memory is left"));
        },
      },
      { isShared: false },
    );
    const service = { ...alone, soleWriter: await openSoleWriter(alone) };
    const readings = [
      factIn(workspace, "e1:0", 1, chargeAt(5_000)),
      factIn(workspace, "e2:0", 2, chargeAt(8_000)),
    ];
    const [order, invoiced] = recordsOf(readings).map((record) => [record]);
    const begun = await bookMoney(service, order ?? []);
    expect(await hasFailed(Promise.resolve(begun?.finished))).to.equal(true);
    // As the consumer does: it had the next one in hand, and then gives both again.
    expect(await hasFailed(bookMoney(service, invoiced ?? []))).to.equal(true);
    await (
      await bookMoney(service, recordsOf(readings))
    )?.finished;
    expect(await placesOf(clickhouse, workspace)).to.eql([{ at: "5000" }]);
  });
});

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
    const service = serviceOver(clickhouse, { reported });
    const days = limits.factsPerPaymentMax + 200;
    const subscription = (day: number, product: string): Fact =>
      factIn(
        workspace,
        `s${String(day).padStart(5, "0")}:0`,
        day,
        purchase({ lines: linesOf({ [product]: 1n }) }),
      );
    const events = Array.from({ length: days }, (_, day) => subscription(day + 1, "prod"));
    await bookFacts(service, events);
    const paid = factIn(workspace, "t1:0", days + 1, charge);
    const asOf = factIn(workspace, "t1:1", days + 1, {
      Link: { payment: "pi", purchase: "in", as_of: days * 1_000 },
    });
    await bookFacts(service, [paid, asOf]);
    expect(reported.map(({ external_id, type }) => [external_id, type])).to.eql([
      ["prod", "subscription"],
    ]);
    await bookFacts(service, [subscription(days + 2, "other")]);
    expect(reported, "messages after a later event").to.have.length(1);
  });
});

describe("A message about a payment whose invoice is on its way", () => {
  const invoiced = payment({ ...charge.Payment, invoiced: true });
  const nowSeconds = Math.floor(Date.now() / 1_000);
  /** Whatever a busy machine does meanwhile; where it is waited for, it is cut short. */
  const longMs = 600_000;

  async function open(isShared: boolean, waitMs: number) {
    const workspace = `ws_${randomUUID()}`;
    const reported: TransactionRecord[] = [];
    const given = serviceOver(await openTestClickHouse(), { isShared, reported });
    const soleWriter = await openSoleWriter(given);
    return {
      service: { ...given, soleWriter, held: new HeldMessages(waitMs) },
      fact: (id: string, body: FactBody, second = nowSeconds) =>
        factIn(workspace, id, second, body),
      said: () => reported.map(({ type, external_id }) => [type, external_id]),
    };
  }

  for (const isShared of [true, false]) {
    const how = isShared ? "beside others" : "alone";
    it(`should not be sent when the next one comes soon, booked ${how}`, async () => {
      const { service, fact, said } = await open(isShared, longMs);
      const left = await bookMoney(service, recordsOf([fact("e1:0", invoiced)]));
      expect(said()).to.eql([]);
      await bookFacts(service, [fact("e2:0", invoice), fact("e2:1", link)]);
      expect(said()).to.eql([["subscription", "prod"]]);
      await left?.finished;
      expect(said()).to.eql([["subscription", "prod"]]);
    });
  }

  it("should be sent before its offset moves when nothing comes", async () => {
    const { service, fact, said } = await open(true, 2_000);
    await bookFacts(service, [fact("e1:0", invoiced, nowSeconds + 1)]);
    expect(said()).to.eql([["one_time", ""]]);
  });

  const atOnce: [what: string, body: FactBody, second: number][] = [
    ["of a payment without an invoice", charge, nowSeconds],
    ["of a payment received long ago", invoiced, nowSeconds - longMs / 1_000],
    [
      "that names what was bought",
      payment({ ...invoiced.Payment, lines: linesOf({ prod: 1_000n }) }),
      nowSeconds,
    ],
  ];
  for (const [what, body, second] of atOnce) {
    it(`should be sent at once ${what}`, async () => {
      const { service, fact, said } = await open(true, longMs);
      await bookMoney(service, recordsOf([fact("e1:0", body, second)]));
      expect(said()).to.have.length(1);
    });
  }
});

/** With nothing on it: what is appended goes to `reported` alone. */
let openLog: Log | undefined;

/** A process that books beside others, unless not shared. @param reported gets its messages */
function serviceOver(
  clickhouse: ClickHouse,
  { isShared = true, reported = [] }: { isShared?: boolean; reported?: TransactionRecord[] } = {},
): BookingService {
  openLog ??= openTestLog("book-money");
  const append: Log["append"] = async (topic, records) => {
    if (topic !== topics.transactions) return [];
    reported.push(...records.map(({ value }) => transactionCodec.decode(value)));
    return [];
  };
  return bookingOver({ ...clickhouse, isShared }, { ...openLog, append, shared: isShared });
}

function factIn(workspace: string, id: string, second: number, body: FactBody): Fact {
  const isConverted = "Payment" in body || "RefundTotal" in body;
  return factOf(body, {
    fact_id: id,
    event_id: id.split(":")[0] ?? "",
    workspace,
    received_at: second * 1_000,
    happened_at: second * 1_000,
    quote: isConverted ? quoteOf() : null,
  });
}
