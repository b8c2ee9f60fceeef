/** Why a figure is what it is: from a transaction, an event or a difference down to raw events. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import type { LogRecord } from "../../stores/log/log.js";
import {
  chargeObject,
  invoiceObject,
  invoicePaymentObject,
  refundObject,
} from "../../ops/payloads/stripe-money.js";
import { creditNoteObject } from "../payloads/stripe-sales.js";
import { type JsonObject, eventBody, stripeEvent } from "../../ops/payloads/stripe.js";
import { type EventAnswer, eventAnswer } from "../../api/events/schema.js";
import type { LedgerEntry } from "../../api/events/evidence-schema.js";
import { type MrrChangesAnswer, mrrChangesAnswer } from "../../api/mrr-changes/schema.js";
import { type TransactionAnswer, transactionAnswer } from "../../api/transaction/schema.js";
import { transactionId } from "../../schemas/ids.js";
import { rawEventCodec, topics } from "../../schemas/records/records.js";
import {
  type Endpoints,
  expectError,
  openEndpoints,
  suiteEndpoints,
} from "../harness/endpoints.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const paidAt = Math.floor((Date.now() - 40 * dayMs) / 1000) * 1000;
const refundedAt = paidAt + 2 * dayMs;

type Explained = EventAnswer["data"];

describe("Why", () => {
  const endpoints = suiteEndpoints();
  const get: Endpoints["get"] = (...call) => endpoints.get(...call);
  const booked = () => endpoints.booked();

  /** @returns the event id */
  async function report(
    id: string,
    type: string,
    at: number,
    object: JsonObject,
    to: Endpoints = endpoints,
  ): Promise<string> {
    const answer = await to.deliver(eventBody(stripeEvent({ id, type, at, object })));
    expect(answer.status, answer.text).to.equal(200);
    return String(answer.json.event_id);
  }

  const money = { amount: 4_000n, currency: "usd" };
  const charge = chargeObject({
    ...money,
    id: "ch_why",
    paymentIntent: "pi_why",
    createdAt: paidAt,
    customer: "cus_why",
    country: "DE",
  });
  const returned = { id: "re_why", charge: "ch_why", paymentIntent: "pi_why", amount: 1_000n };
  const refund = refundObject({ ...returned, currency: "usd", createdAt: refundedAt });
  const line = { price: "price_why", subscription: "sub_why" };
  const bought = { customer: "cus_why", currency: "usd", createdAt: paidAt, paidAt } as const;
  const invoice = invoiceObject({
    ...bought,
    id: "in_why",
    subscription: "sub_why",
    lines: [
      { ...line, id: "il_1", product: "prod_seats", amount: 3_000n },
      { ...line, id: "il_2", product: "prod_extra", amount: 1_000n },
    ],
  });
  const paid = { id: "inpay_why", invoice: "in_why", payment: "pi_why", paidAt };
  const link = invoicePaymentObject({ ...money, ...paid });

  describe("GET /v1/transactions/{id}", () => {
    let id: string;
    let events: string[];
    let beforeLink: string;
    let shown: TransactionAnswer["data"];

    before("a refund before its sale, the link to the products last", async () => {
      events = [
        await report("evt_why_1", "refund.created", refundedAt, refund),
        await report("evt_why_2", "charge.succeeded", paidAt, charge),
        await report("evt_why_3", "invoice.paid", paidAt, invoice),
      ];
      beforeLink = await booked();
      events.push(await report("evt_why_4", "invoice_payment.paid", paidAt, link));
      await booked();
      id = transactionId(endpoints.workspace, "live", "stripe", "pi_why");
      await journalled(events);
      shown = await explained("");
    });

    function versionsOf(name: string): Promise<unknown[]> {
      const { clickhouse } = endpoints.service;
      return clickhouse.rows("SELECT 1 FROM transactions WHERE id = {name:String}", { name });
    }

    async function explained(query: string): Promise<TransactionAnswer["data"]> {
      const answer = await get(`/v1/transactions/${id}${query}`);
      expect(answer.status, answer.text).to.equal(200);
      return transactionAnswer.parse(answer.json).data;
    }

    it("should show the transaction as the list does", async () => {
      const { json } = await get("/v1/transactions");
      const [listed] = json.data;
      expect(listed.id).to.equal(id);
      expect(shown).to.deep.include(listed);
      expect(shown).to.include({ refunded_amount: 10, payment: "pi_why", fx_source: "ecb" });
      expect(shown.fx_edition).to.be.a("number");
    });

    it("should be found by the ids its provider has for it and for what it paid", async () => {
      const found = async (query: string) => {
        const { status, json, text } = await get(`/v1/transactions?${query}`);
        expect(status, text).to.equal(200);
        return json.data.map((row: { id: string }) => row.id);
      };
      for (const name of ["pi_why", "in_why", id]) {
        expect(await found(`search=${name}`), name).to.deep.equal([id]);
        expect(await found(`search=${name}&account=${shown.account}`), name).to.deep.equal([id]);
        expect(await found(`search=${name}&provider=apple`), name).to.deep.equal([]);
      }
      expect(await found("search=pi_wh")).to.deep.equal([]);
      expect(await found(`search=in_why&known_at=${beforeLink}`)).to.deep.equal([]);
      expect(await found(`account=${shown.account}`)).to.deep.equal([id]);
      const { headers } = await get("/v1/transactions?search=in_why&format=csv");
      expect(headers.get("x-total-count")).to.equal("1");
    });

    it("should show its versions in order, each with the raw events behind it", () => {
      const reported = shown.versions.map((each) => each.events.map((event) => event.event_id));
      expect(reported).to.deep.equal([events.slice(0, 2), events.slice(2)]);
      const [first, last] = shown.versions;
      const { version } = shown;
      expect(first).to.include({ event_id: events[1], type: "one_time", refunded_amount: 10 });
      expect(last).to.include({ event_id: events[3], type: "subscription", version });
    });

    it("should say where each event lies, what was checked and at which rate", async () => {
      const [first] = shown.versions;
      const charged = first?.events[1];
      expect(charged).to.include({
        topic: "revenue.raw",
        verdict: "signature",
        form: "webhook",
        provider: "stripe",
        native_type: "charge.succeeded",
        native_id: "evt_why_2",
      });
      for (const { partition, offset, event_id: eventId } of first?.events ?? []) {
        const [found] = await endpoints.service.log.read(topics.raw, partition, BigInt(offset), 1);
        const { meta } = rawEventCodec.decode(found?.value ?? Buffer.alloc(0));
        expect(meta.event_id).to.equal(eventId);
      }
      expect(charged?.facts).to.have.length(1);
      expect(charged?.facts[0]).to.include({
        kind: "payment",
        about: "pi_why",
        amount: 40,
        currency: "USD",
        fx_rate: shown.fx_rate,
        fx_date: shown.fx_date,
        fx_source: "ecb",
        fx_edition: shown.fx_edition,
      });
    });

    it("should show ledger entries that add up to the amounts, product by product", () => {
      const sales = shown.ledger.filter(({ kind }) => kind === "sale");
      expect(cents(sales, "original_amount")).to.equal(4_000n);
      expect(cents(sales, "amount")).to.equal(centsOf(shown.normalized_amount));
      expect(sales.reduce((sum, { sales: count }) => sum + count, 0)).to.equal(1);
      const refunds = shown.ledger.filter(({ kind }) => kind === "refund");
      expect(cents(refunds, "original_amount")).to.equal(-1_000n);
      const left = ["prod_seats", "prod_extra", ""].map((sku) => {
        const entries = shown.ledger.filter(({ external_id }) => external_id === sku);
        return cents(entries, "original_amount");
      });
      expect(left).to.deep.equal([2_250n, 750n, 0n]);
    });

    it("should show what was known at a moment, and what had happened by one", async () => {
      const known = await explained(`?known_at=${beforeLink}`);
      expect(known.versions).to.have.length(1);
      expect(known).to.include({ type: "one_time", refunded_amount: 10 });
      expect(new Set(known.ledger.map(({ external_id }) => external_id))).to.deep.equal(
        new Set([""]),
      );
      const happened = await explained(`?at=${new Date(refundedAt - 1).toISOString()}`);
      expect(happened).to.include({ type: "subscription", refunded_amount: 0 });
      expect(happened.ledger.map(({ kind }) => kind)).to.not.include("refund");
    });

    it("should wait for the ledger of a transaction that is listed already", async () => {
      const sale = { event_id: "listed", event_type: "transaction.sale", amount: 7 };
      const call = endpoints.service.watermark.receive();
      await record(sale);
      const name = transactionId(endpoints.workspace, "live", "custom", "listed");
      while ((await versionsOf(name)).length === 0) await pause(10);
      const answer = get(`/v1/transactions/${name}`);
      await pause(50);
      call.settle();
      expect((await answer).status).to.equal(200);
      expect(cents((await answer).json.data.ledger, "amount")).to.equal(700n);
    });

    it("should not be found before it happened, elsewhere, or under another name", async () => {
      const before = `?at=${new Date(paidAt - 1).toISOString()}`;
      const other = await openEndpoints();
      const testKey = await endpoints.newKey("Test");
      for (const answer of [
        await get(`/v1/transactions/${id}${before}`),
        await get(`/v1/transactions/${id}`, other.readKey),
        await get(`/v1/transactions/${id}`, testKey.key),
        await get("/v1/transactions/tx_norm_of_nothing"),
      ]) {
        expectError(answer, "404 transaction_not_found");
      }
    });
  });

  describe("GET /v1/events/{event_id}", () => {
    const begun = { event_type: "subscription.new" };

    it("should show an event just received as in progress, and then what it did", async () => {
      // The consumers let a crowd at the endpoints go first.
      const crowd = Array.from({ length: 11 }, () => endpoints.service.watermark.receive());
      let id: string;
      try {
        id = await record({ event_id: "just-now", event_type: "transaction.sale", amount: 5 });
        const early = await eventOf(id);
        expect(early).to.include({ state: "in_progress", native_id: "just-now", form: "record" });
        expect(early.deliveries).to.have.length(1);
        const delivered = { verdict: "api_key", seal: "intact", outcome: null };
        expect(early.deliveries[0]).to.include(delivered);
      } finally {
        for (const call of crowd) call.settle();
      }
      await booked();
      await journalled([id]);
      const done = await eventOf(id);
      expect(done.state).to.equal("booked");
      expect(done.deliveries[0]).to.include({ outcome: "facts", facts: 1, seal: "intact" });
      expect(done.facts.map(({ kind }) => kind)).to.deep.equal(["payment"]);
      expect(cents(done.ledger, "amount")).to.equal(500n);
      expect(done.transactions).to.have.length(1);
      expect(JSON.stringify(done)).to.not.include("buyer@example.com");
    });

    it("should keep a refund that names no sale apart from the sale of its number", async () => {
      const sale = { event_id: "alike-sale", event_type: "transaction.sale", amount: 100 };
      const back = { event_id: "alike", event_type: "transaction.refund", amount: 30 };
      const ids = [await record({ ...sale, transaction_id: "alike" }), await record(back)];
      await booked();
      await journalled(ids);
      const reported = await Promise.all(ids.map(eventOf));
      const amounts = reported.map(({ ledger }) => cents(ledger, "amount"));
      expect(amounts).to.deep.equal([10_000n, -3_000n]);
      const transactions = reported.map((event) => event.transactions.map(({ id }) => id));
      expect(transactions.map(({ length }) => length)).to.deep.equal([1, 1]);
      const shown = await Promise.all(
        transactions.flat().map((id) => get(`/v1/transactions/${id}`)),
      );
      expect(shown.map(({ json }) => json.data)).to.containSubset([
        { type: "one_time", status: "succeeded", gross_amount: 100, refunded_amount: 0 },
        { type: "refund", status: "refunded", gross_amount: 30, payment: "refund:alike" },
      ]);
    });

    it("should be counted once by how long its payment took, and its MRR", async () => {
      const counted = async (figures: string): Promise<number> => {
        const { text } = await endpoints.call("/metrics");
        const name = `revenue_booking_delay_seconds_count{figures="${figures}"} `;
        const found = text.split("\n").find((each) => each.startsWith(name));
        return Number(found?.slice(name.length) ?? 0);
      };
      const both = () => Promise.all(["transactions", "mrr"].map(counted));
      const before = await both();
      await record({ ...begun, event_id: "counted", amount: 8, subscription_id: "sub_counted" });
      await booked();
      expect(await both()).to.deep.equal(before.map((one) => one + 1));
    });

    it("should show all recorded under it and when, also when it comes again", async () => {
      const rowsOf = (event: Explained) =>
        [event.ledger, event.transactions, event.subscription_changes, event.movements] as const;
      const sentAt = Date.now();
      const sent = { event_id: "timed", amount: 12, subscription_id: "sub_timed" };
      const id = await record({ ...begun, ...sent });
      await booked();
      const bookedBy = Date.now();
      await journalled([id]);
      const reported = await eventOf(id);
      for (const rows of rowsOf(reported)) {
        expect(rows).to.have.length(1);
        expect(Date.parse(rows[0]?.booked_at ?? "")).to.be.within(sentAt, bookedBy);
      }
      expect(reported.subscription_changes[0]).to.include({ phase: "started", mrr: 12 });
      expect(reported.movements[0]).to.include({ kind: "new", mrr: 12 });
      const [made] = reported.transactions;
      const { json } = await get(`/v1/transactions/${made?.id}`);
      expect(json.data.versions[0].booked_at).to.equal(made?.booked_at);
      await endpoints.service.log.append(topics.raw, await recordsOf(id));
      await booked();
      expect(rowsOf(await eventOf(id))).to.deep.equal(rowsOf(reported));
    });

    it("should show every delivery of an event, and why it was rejected", async () => {
      const odd = { id: "ch_odd", paymentIntent: "pi_odd", amount: 100n, currency: "zzz" };
      const object = chargeObject({ ...odd, createdAt: paidAt, customer: null });
      const id = await report("evt_why_odd", "charge.succeeded", paidAt, object);
      await report("evt_why_odd", "charge.succeeded", paidAt, object);
      await booked();
      let done = await eventOf(id);
      const isWritten = () =>
        done.deliveries.filter(({ outcome }) => outcome !== null).length === 2;
      while (!isWritten()) done = await eventOf(id);
      expect(done.deliveries.map(({ reason }) => reason)).to.deep.equal([
        "currency_unknown",
        "currency_unknown",
      ]);
      expect(done.state).to.equal("rejected");
      expect(done.reject).to.include({ step: "decode", reason: "currency_unknown", state: "open" });
      expect(done.ledger).to.deep.equal([]);
    });

    it("should find no event of another workspace, and none that was never received", async () => {
      const id = await record({ event_id: "mine", event_type: "transaction.sale", amount: 5 });
      const other = await openEndpoints();
      for (const answer of [
        await get(`/v1/events/${id}`, other.readKey),
        await get("/v1/events/evt_norm_of_nothing"),
      ]) {
        expectError(answer, "404 event_not_found");
      }
      await booked();
      await journalled([id]);
      const later = await get(`/v1/events/${id}`, other.readKey);
      expectError(later, "404 event_not_found");
      expect((await get("/v1/events/ingest")).status).to.equal(405);
    });
  });

  async function eventOf(id: string): Promise<Explained> {
    const answer = await get(`/v1/events/${id}`);
    expect(answer.status, answer.text).to.equal(200);
    return eventAnswer.parse(answer.json).data;
  }

  /** The raw records of its deliveries. */
  async function recordsOf(id: string): Promise<LogRecord[]> {
    const { deliveries } = await eventOf(id);
    const reads = deliveries.map(({ partition, offset }) =>
      endpoints.service.log.read(topics.raw, partition, BigInt(offset), 1),
    );
    return (await Promise.all(reads)).flat();
  }

  /** Sends a form A record. @returns its event id */
  async function record(more: JsonObject, at = paidAt, key?: string): Promise<string> {
    const { event_id: id } = await endpoints.record(
      { occurred_at: new Date(at).toISOString(), customer_id: "buyer@example.com", ...more },
      key === undefined ? {} : { authorization: `Bearer ${key}` },
    );
    return String(id);
  }

  /** The journal is written behind. */
  async function journalled(ids: readonly string[]): Promise<void> {
    for (;;) {
      const rows = await endpoints.service.clickhouse.rows(
        "SELECT DISTINCT event_id FROM raw_events WHERE event_id IN {ids:Array(String)}",
        { ids },
      );
      if (rows.length === new Set(ids).size) return;
      await pause(20);
    }
  }

  describe("GET /v1/metrics/mrr/changes", () => {
    let fresh: Endpoints;
    let from: string;
    let to: string;
    const at = new Date(paidAt + 20 * dayMs).toISOString();
    const sent: Record<string, string> = {};

    before("corrections that come after the first reading", async () => {
      fresh = await openEndpoints();
      const send = async (name: string, type: string, amount: number, day: number) => {
        const event_id = `${name} ${type} ${day}`;
        const event = { event_id, event_type: `subscription.${type}`, amount, product_id: "plan" };
        const ids = { subscription_id: name, customer_id: name };
        sent[event_id] = await record({ ...event, ...ids }, paidAt + day * dayMs, fresh.key);
      };
      await send("steady", "new", 10, 0);
      await send("raised", "new", 20, 5);
      await send("ended", "new", 40.01, 5);
      from = await booked();
      // It had begun before, with less: what was new becomes an expansion of an older vintage.
      await send("raised", "new", 7.7, -40);
      await send("ended", "churn", 40.01, 12);
      await booked();
      // After the moment that is asked about, and no news.
      await send("later", "new", 99, 25);
      await send("steady", "new", 10, 10);
      // Takes part of what was said just before back: two events about one account.
      await send("ended", "new", 3.33, 15);
      to = await booked();
    });

    async function changes(query: string): Promise<MrrChangesAnswer> {
      const answer = await get(`/v1/metrics/mrr/changes?${query}`, fresh.readKey);
      expect(answer.status, answer.text).to.equal(200);
      return mrrChangesAnswer.parse(answer.json);
    }

    it("should report both readings as they are reported by themselves", async () => {
      const { readings } = await changes(`from_known_at=${from}&to_known_at=${to}&at=${at}`);
      for (const [reading, knownAt] of [
        [readings.from, from],
        [readings.to, to],
      ] as const) {
        const { json } = await get(`/v1/metrics/mrr?at=${at}&known_at=${knownAt}`, fresh.readKey);
        expect(reading.mrr).to.equal(json.data.current_mrr);
        expect(reading.active_subscribers).to.equal(json.data.active_subscribers);
      }
      expect(readings.from.mrr_exact).to.equal("70.010000");
      expect(readings.to.mrr_exact).to.equal("33.330000");
    });

    it("should list the movements between, under their events, adding up exactly", async () => {
      const { data, readings } = await changes(`from_known_at=${from}&to_known_at=${to}&at=${at}`);
      const reported = data.map((row) => [row.event_id, row.kind, row.vintage, row.mrr_exact]);
      const month = (day: number) => new Date(paidAt + day * dayMs).toISOString().slice(0, 7);
      expect(reported).to.have.deep.members([
        [sent["ended new 15"], "reactivation", month(5), "3.330000"],
        [sent["ended churn 12"], "churn", month(5), "-40.010000"],
        [sent["raised new -40"], "new", month(-40), "7.700000"],
        [sent["raised new -40"], "new", month(5), "-20.000000"],
        [sent["raised new -40"], "expansion", month(-40), "12.300000"],
      ]);
      expectAddsUp(data, readings);
      expect(readings.difference.mrr_exact).to.equal("-36.680000");
    });

    it("should show the same in pages of two rows as in one page", async () => {
      const query = `from_known_at=${from}&to_known_at=${to}&at=${at}`;
      const whole = await changes(query);
      const rows = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const page: MrrChangesAnswer = await changes(
          cursor === "" ? `${query}&limit=2` : `cursor=${cursor}&limit=2`,
        );
        expect(page.readings).to.deep.equal(whole.readings);
        rows.push(...page.data);
        cursor = page.pagination.next_cursor;
      }
      expect(rows).to.deep.equal(whole.data);
    });

    for (const sort of ["-at", "at", "-mrr", "mrr", "-recorded_at", "recorded_at"] as const) {
      it(`should list them by ${sort}, page by page, with the totals of all`, async () => {
        const query = `from_known_at=${from}&to_known_at=${to}&at=${at}&sort=${sort}`;
        const { data, totals, readings } = await changes(query);
        expect(totals).to.deep.equal({ changes: 5, ...readings.difference });
        const keyOf = (row: MrrChangesAnswer["data"][number]): number =>
          sort.endsWith("mrr")
            ? row.mrr
            : Date.parse(sort.endsWith("_at") ? row.recorded_at : row.at);
        const keys = data.map(keyOf);
        const sign = sort.startsWith("-") ? -1 : 1;
        expect(keys).to.deep.equal(keys.toSorted((one, other) => sign * (one - other)));
        const walked: unknown[] = [];
        for (let next: string | null = `${query}&limit=1`; next !== null;) {
          const page: MrrChangesAnswer = await changes(next);
          walked.push(...page.data);
          const { next_cursor: cursor } = page.pagination;
          next = cursor === null ? null : `cursor=${cursor}`;
        }
        expect(walked).to.deep.equal(data);
      });
    }

    it("should list the latest first when nobody asks for another order", async () => {
      const query = `from_known_at=${from}&to_known_at=${to}&at=${at}`;
      const { data } = await changes(query);
      expect(data).to.deep.equal((await changes(`${query}&sort=-at`)).data);
    });

    it("should ask about the first reading's own moment when no other is given", async () => {
      const { readings, data } = await changes(`from_known_at=${from}`);
      expect(readings.at).to.equal(from);
      expect(readings.from.known_at).to.equal(from);
      // By now, what is dated later than `at` above has happened too.
      expect(readings.to.mrr_exact).to.equal("132.330000");
      expectAddsUp(data, readings);
    });

    it("should report nothing of a provider that had no part", async () => {
      const { data, readings } = await changes(
        `from_known_at=${from}&to_known_at=${to}&provider=stripe`,
      );
      expect(data).to.deep.equal([]);
      expect(readings.difference.mrr_exact).to.equal("0.000000");
    });

    const future = "2999-01-01T00:00:00Z";
    const refused: [query: () => string, code: string, param: string][] = [
      [() => "", "parameter_missing", "from_known_at"],
      [() => `from_known_at=${to}&to_known_at=${from}`, "readings_reversed", "from_known_at"],
      [() => `from_known_at=${future}`, "moment_in_future", "from_known_at"],
      [() => `from_known_at=${from}&to_known_at=${future}`, "moment_in_future", "to_known_at"],
      [() => `from_known_at=${from}&known_at=${to}`, "parameter_unknown", "known_at"],
    ];
    for (const [query, code, param] of refused) {
      it(`should refuse what is ${code} of ${param}`, async () => {
        const answer = await get(`/v1/metrics/mrr/changes?${query()}`, fresh.readKey);
        expectError(answer, `${answer.status} ${code} ${param}`);
        expect(answer.status).to.be.within(400, 422);
      });
    }
  });

  describe("a credit note outside Stripe", () => {
    it("should move what was returned outside Stripe to the payment of its invoice", async () => {
      // Of a workspace of its own: the others' transaction is the only one in theirs.
      const own = await openEndpoints();
      const send = (id: string, type: string, at: number, object: JsonObject) =>
        report(id, type, at, object, own);
      /** Of the invoice's payments, by product, in cents of the original currency. */
      const returnedNow = async () => {
        const rows = await own.service.clickhouse.rows<{ text: string }>(
          `SELECT concat(payment, ' ', external_id, ' ', toString(sum(original_amount))) AS text
           FROM ledger WHERE workspace = {workspace:String} AND kind = 'refund'
           GROUP BY payment, external_id HAVING sum(original_amount) != 0 ORDER BY text`,
          { workspace: own.workspace },
        );
        return rows.map(({ text }) => text).join(", ");
      };
      const outside = { id: "cn_out", invoice: "in_out", amountOutside: 4_000n, currency: "usd" };
      const note = creditNoteObject({ ...outside, createdAt: refundedAt });
      await send("evt_out_1", "credit_note.created", refundedAt, note);
      await booked();
      expect(await returnedNow()).to.equal("stripe:in_out  -4000");
      const charged = { ...charge, id: "ch_out", payment_intent: "pi_out" };
      await send("evt_out_2", "charge.succeeded", paidAt, charged);
      const lines = [{ ...line, id: "il_o", product: "prod_o", amount: 4_000n }];
      const invoiced = invoiceObject({ ...bought, id: "in_out", lines });
      await send("evt_out_3", "invoice.paid", paidAt, invoiced);
      const ids = { id: "inpay_out", invoice: "in_out", payment: "pi_out" };
      const linked = invoicePaymentObject({ ...money, ...ids, paidAt });
      await send("evt_out_4", "invoice_payment.paid", paidAt, linked);
      await booked();
      expect(await returnedNow()).to.equal("stripe:pi_out prod_o -4000");
      const id = transactionId(own.workspace, "live", "stripe", "pi_out");
      const { json } = await get(`/v1/transactions/${id}`, own.readKey);
      expect(transactionAnswer.parse(json).data).to.include({ status: "refunded" });
    });
  });
});

function expectAddsUp(
  rows: MrrChangesAnswer["data"],
  { difference, from, to }: MrrChangesAnswer["readings"],
): void {
  const sum = rows.reduce((total, row) => total + micros(row.mrr_exact), 0n);
  expect(sum).to.equal(micros(difference.mrr_exact));
  expect(sum).to.equal(micros(to.mrr_exact) - micros(from.mrr_exact));
  const accounts = rows.reduce((total, row) => total + row.active_subscribers, 0);
  expect(accounts).to.equal(difference.active_subscribers);
}

/** `-3.330000` → -3330000n */
function micros(text: string): bigint {
  return BigInt(text.replace(".", ""));
}

function cents(rows: readonly LedgerEntry[], column: "amount" | "original_amount"): bigint {
  return rows.reduce((sum, row) => sum + centsOf(row[column]), 0n);
}

/** Of an amount with two decimals. */
function centsOf(amount: number): bigint {
  return BigInt(Math.round(amount * 100));
}
