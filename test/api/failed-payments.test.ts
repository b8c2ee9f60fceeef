/** Failed payments by month of start, and why MRR churned: small tables to check by hand. */
import { expect } from "chai";
import * as fc from "fast-check";
import { presentFailedPayments } from "../../api/failed-payments/route.js";
import { type FailedPaymentsRow, failedPaymentsQuery } from "../../api/failed-payments/query.js";
import {
  type FailedPaymentsAnswer,
  failedPaymentsAnswer,
} from "../../api/failed-payments/schema.js";
import { readMonths } from "../../api/rates/months.js";
import { rowsOf as readRows } from "../../api/reading/reading.js";
import {
  type JsonObject,
  eventBody,
  priceObject,
  stripeEvent,
  subscriptionObject,
} from "../../ops/payloads/stripe.js";
import { differenceOf } from "../../processors/book/account/recorded.js";
import { viewOf } from "../../processors/book/subscriptions/movements.js";
import { grouped } from "../../runtime/lists.js";
import type { Fact, FactBody } from "../../schemas/records/records.js";
import { bookingOver } from "../harness/booking.js";
import { itRefuses, jsonLines, suiteEndpoints } from "../harness/endpoints.js";
import { type Body, quoteOf, subscription } from "../harness/fact-bodies.js";
import { factOf } from "../harness/facts.js";
import { type Tenant, newTenant } from "../harness/query-rows.js";
import { openTestLog } from "../harness/stores.js";
import { cell, momentOf, rowsOf } from "../model/tables/table.js";

const path = "/v1/metrics/failed-payments";

/**
 * An event of one subscription. It says what that is worth (`20`, `nothing`), ends it (`ends`,
 * `expires`), or neither; then `failing`, `unpaid`, or why it ended (`ended_unpaid`,
 * `ended_otherwise`), and from when the last period was paid where that is not its own time.
 */
function bodiesIn(says: string, at: number, name: string): FactBody[] {
  const [first = "", ...rest] = says.split(" ");
  const states = new Map<string, Partial<Body<"Subscription">>>([
    ["ends", { phase: "ended" }],
    ["expires", { phase: "expired" }],
    ["nothing", {}],
  ]);
  const isWorth = /^\d+$/.test(first);
  const of = { subscription: name, account: name };
  const state = isWorth ? {} : states.get(first);
  const worth = isWorth ? [BigInt(first) * 100n] : [];
  const [standing, from] = state === undefined ? [first, ...rest] : rest;
  const kind = kinds.find((one) => one === standing);
  if (standing !== undefined && kind === undefined) throw new Error(`nobody says ${says}`);
  const paid = { paid_from: from === undefined ? at : momentOf(from) };
  return [
    ...(state === undefined ? [] : [subscription(at, worth, { ...of, ...state })]),
    ...(kind === undefined ? [] : [{ Standing: { ...of, at, ...paid, standing: kind } }]),
  ];
}

const kinds = ["failing", "unpaid", "ended_unpaid", "ended_otherwise"] as const;

/** In order of receipt, each event a millisecond after the one before unless it says when. */
function factsIn(table: string, tenant: Tenant, order: "told" | "reversed" = "told"): Fact[] {
  const rows = rowsOf(table).map((row, place) => ({ row, event: `e${place}` }));
  const received = order === "told" ? rows : rows.toReversed();
  return received.flatMap(({ row, event }, place) => {
    const at = momentOf(cell(row, "at"));
    const name = row["subscription"] ?? "sub";
    const recorded = row["recorded"] ? momentOf(row["recorded"]) : momentOf("2026-06-09");
    return bodiesIn(cell(row, "says"), at, name).map((body, index) =>
      factOf(body, {
        ...tenant,
        fact_id: `${event}:${index}`,
        event_id: event,
        provider: row["provider"] ?? "stripe",
        received_at: recorded + place,
        happened_at: at,
        quote: quoteOf(),
      }),
    );
  });
}

type Months = FailedPaymentsAnswer["data"]["series"][number];

/** What there is of it: `2 started: 1 recovered, 1 open of 30; 1 involuntary 10`. */
function wordsOf(month: Omit<Months, "month" | "until" | "is_whole">): string {
  const parts = (["recovered", "lost", "open"] as const).flatMap((what) =>
    month[what] === 0 ? [] : [`${month[what]} ${what}`],
  );
  const failures = parts.length === 0 ? [] : [`${parts.join(", ")} of ${month.mrr_at_risk}`];
  const churns = (["involuntary", "voluntary", "unknown"] as const).flatMap((why) => {
    const [customers, mrr] = [month[`${why}_churned`], month[`${why}_churned_mrr`]];
    return customers === 0 && mrr === 0 ? [] : [`${customers} ${why} ${mrr}`];
  });
  return [...failures, ...churns].join("; ");
}

/** What becomes of the failures of one subscription, event by event in order of time. */
function fatesOf(events: readonly { readonly at: string; readonly says: string }[]) {
  const fates: { began: string; fate: "recovered" | "lost" | "open"; mrr: number }[] = [];
  let [isFailing, isGivenUp] = [false, false];
  let worth = 0;
  for (const { at, says } of events) {
    const [first, standing] = says.split(" ");
    const before = worth;
    worth = Number(first) || 0;
    const last = fates.at(-1);
    if (standing === "failing" || standing === "unpaid") {
      const isUnpaid = standing === "unpaid";
      const mrr = isUnpaid ? before : worth;
      const begins = !isFailing && !isGivenUp && mrr > 0;
      if (begins) fates.push({ began: at, fate: isUnpaid ? "lost" : "open", mrr });
      else if (last !== undefined && isFailing && isUnpaid) last.fate = "lost";
      isGivenUp ||= isUnpaid;
      isFailing = !isGivenUp;
    } else {
      if (last !== undefined && isFailing) last.fate = worth > 0 ? "recovered" : "lost";
      [isFailing, isGivenUp] = [false, false];
    }
  }
  return fates;
}

interface Case {
  readonly title: string;
  readonly events: string;
  /** By month, up to 10 June 2026; months with nothing are left out. */
  readonly expected: Readonly<Record<string, string>>;
}

const cases: readonly Case[] = [
  {
    title: "should be recovered when it is in order again, with the MRR of then",
    events: `
      at         | says
      2026-04-03 | 20
      2026-05-03 | 20 failing
      2026-05-05 | 20 failing
      2026-05-08 | 30`,
    expected: { "2026-05": "1 recovered of 20" },
  },
  {
    title: "should be lost when the subscription ends meanwhile, whatever the reason given",
    events: `
      at         | says
      2026-04-03 | 20
      2026-05-30 | 20 failing
      2026-06-02 | ends ended_otherwise`,
    expected: { "2026-05": "1 lost of 20", "2026-06": "1 involuntary 20" },
  },
  {
    title: "should be lost from when it is unpaid, though it is paid and fails once more later",
    events: `
      at         | says
      2026-03-03 | 20
      2026-04-03 | 20 failing
      2026-04-20 | nothing unpaid
      2026-05-01 | 20
      2026-06-01 | 20 failing`,
    expected: { "2026-04": "1 lost of 20; 1 involuntary 20", "2026-06": "1 open of 20" },
  },
  {
    title: "should be lost at once where unpaid is all that is said of it",
    events: `
      at         | says
      2026-04-03 | 20
      2026-05-03 | nothing unpaid
      2026-05-09 | ends ended_unpaid`,
    expected: { "2026-05": "1 lost of 20; 1 involuntary 20" },
  },
  {
    title: "should be lost when it pauses while its payment fails, and not when it pauses in order",
    events: `
      subscription | at         | says
      a            | 2026-04-03 | 20
      a            | 2026-05-03 | 20 failing
      a            | 2026-05-09 | nothing
      b            | 2026-04-03 | 10
      b            | 2026-05-09 | nothing`,
    expected: { "2026-05": "1 lost of 20; 1 involuntary 20; 1 unknown 10" },
  },
  {
    title: "should be one failure each, however often a subscription fails",
    events: `
      at         | says
      2026-03-03 | 20
      2026-04-03 | 20 failing
      2026-04-05 | 20
      2026-04-28 | 20 failing
      2026-05-02 | 20 failing
      2026-05-04 | 20
      2026-06-03 | 20 failing`,
    expected: {
      "2026-04": "2 recovered of 40",
      "2026-06": "1 open of 20",
    },
  },
  {
    title: "should need no change between: the period that was paid last is what tells",
    events: `
      at         | says
      2026-04-03 | 20
      2026-05-04 | failing 2026-04-03
      2026-05-06 | failing 2026-04-03
      2026-05-03 | 20
      2026-06-04 | failing 2026-05-03`,
    expected: { "2026-05": "1 recovered of 20", "2026-06": "1 open of 20" },
  },
  {
    title: "should be lost where the end of the last period is dated before it was said to fail",
    events: `
      at         | says
      2026-04-03 | 20
      2026-05-04 | failing 2026-04-03
      2026-05-03 | expires ended_unpaid`,
    expected: { "2026-05": "1 lost of 20; 1 involuntary 20" },
  },
  {
    title: "should be recovered by a period that begins in the moment of an end",
    events: `
      at         | says
      2026-04-03 | 20
      2026-05-04 | failing 2026-04-03
      2026-05-08 | expires ended_unpaid
      2026-05-08 | 20`,
    expected: { "2026-05": "1 recovered of 20" },
  },
  {
    title: "should be none of what is worth nothing",
    events: `
      subscription | at         | says
      trial        | 2026-04-03 | nothing
      trial        | 2026-05-03 | failing
      trial        | 2026-05-09 | ends ended_unpaid
      unheard of   | 2026-05-03 | failing`,
    expected: {},
  },
  {
    title: "should divide what churned by the reason the provider gives",
    events: `
      subscription | at         | says
      a            | 2026-04-03 | 20
      a            | 2026-05-03 | ends ended_unpaid
      b            | 2026-04-03 | 30
      b            | 2026-05-03 | ends ended_otherwise
      c            | 2026-04-03 | 40
      c            | 2026-05-03 | ends
      d            | 2026-04-03 | 50
      d            | 2026-05-04 | expires ended_otherwise`,
    expected: { "2026-05": "1 involuntary 20; 2 voluntary 80; 1 unknown 40" },
  },
];

describe("GET /v1/metrics/failed-payments", () => {
  const endpoints = suiteEndpoints();
  const log = openTestLog("failed-payments");
  const book = (facts: readonly Fact[]) =>
    bookingOver(endpoints.service.clickhouse, log).book(facts);

  async function figures(tenant: Tenant, given: { readonly at?: string; known?: string } = {}) {
    const known = given.known ? momentOf(given.known) : null;
    const asOf = { ...tenant, at: momentOf(given.at ?? "2026-06-10"), knownAt: known };
    const months = readMonths({}, { ...asOf, at: momentOf("2026-06-10") });
    const query = failedPaymentsQuery({ months, asOf }, {});
    const rows = await readRows<FailedPaymentsRow>(endpoints.service, query);
    const { series } = presentFailedPayments(rows, { months }, "EUR");
    return Object.fromEntries(series.map((month) => [month.month, month]));
  }
  async function read(...of: Parameters<typeof figures>) {
    const months = Object.entries(await figures(...of));
    const some = months.map(([month, row]) => [month, wordsOf(row)] as const);
    return Object.fromEntries(some.filter(([, words]) => words !== ""));
  }

  for (const { title, events, expected } of cases) {
    it(title, async () => {
      for (const order of ["told", "reversed"] as const) {
        const tenant = newTenant();
        const facts = factsIn(events, tenant, order);
        for (const fact of facts) await book([fact]);
        expect(await read(tenant), order).to.deep.equal(expected);
        // Sent again it is the same.
        await book(facts.map((fact) => ({ ...fact, replay: true })));
        expect(await read(tenant), `${order}, again`).to.deep.equal(expected);
      }
    });
  }

  it("should be as it was, and as it was known, at a moment", async () => {
    const tenant = newTenant();
    const events = `
      at         | says       | recorded
      2026-04-03 | 20         | 2026-04-03
      2026-05-03 | 20 failing | 2026-05-03
      2026-05-08 | 20         | 2026-05-20
      2026-06-15 | 20 failing | 2026-06-15
      2026-06-20 | ends       | 2026-06-20`;
    await book(factsIn(events, tenant));
    const [open, recovered] = [{ "2026-05": "1 open of 20" }, { "2026-05": "1 recovered of 20" }];
    expect(await read(tenant, { at: "2026-05-07" })).to.deep.equal(open);
    expect(await read(tenant, { at: "2026-05-08" })).to.deep.equal(recovered);
    expect(await read(tenant, { known: "2026-05-19" })).to.deep.equal(open);
    expect(await read(tenant, { known: "2026-05-21" })).to.deep.equal(recovered);
  });

  it("should be as it is told event by event, in whatever order", async () => {
    const subscriptions = 40;
    const says = fc.constantFrom("10", "20", "10 failing", "20 failing", "nothing unpaid", "ends");
    const [drawn = []] = fc.sample(
      fc.array(fc.array(says, { minLength: 1, maxLength: 8 }), { minLength: subscriptions }),
      { numRuns: 1, seed: 47 },
    );
    const told = drawn.map((some) => {
      // A subscription starts in order; unpaid is said only of what was paid.
      return ["10", ...some].map((said, place) => {
        const month = String(1 + Math.floor(place / 2)).padStart(2, "0");
        return { at: `2026-${month}-${place % 2 === 0 ? "05" : "20"}`, says: said };
      });
    });
    const lines = told.flatMap((events, name) =>
      events.map(({ at, says: said }) => `sub ${name} | ${at} | ${said}`),
    );
    const table = ["subscription | at | says", ...lines].join("\n");
    const byMonth = grouped(told.flatMap(fatesOf), ({ began }) => began.slice(0, 7));
    const expected = Array.from(byMonth, ([month, fates]) => {
      const count = (of: string) => fates.filter(({ fate }) => fate === of).length;
      const counts = [count("recovered"), count("lost"), count("open")];
      return [month, [...counts, fates.reduce((sum, { mrr }) => sum + mrr, 0)]] as const;
    });
    for (const order of ["told", "reversed"] as const) {
      const tenant = newTenant();
      await book(factsIn(table, tenant, order));
      const found = Object.entries(await figures(tenant)).flatMap(([month, row]) => {
        const counts = [row.recovered, row.lost, row.open, row.mrr_at_risk] as const;
        return row.started === 0 ? [] : [[month, counts] as const];
      });
      expect(Object.fromEntries(found), order).to.deep.equal(Object.fromEntries(expected));
      expect(found.length).to.be.greaterThan(3);
    }
  });

  it("should be known of what a version before booked once that is replayed", async () => {
    const tenant = newTenant();
    const events = `
      at         | says
      2026-04-03 | 20
      2026-05-03 | 20 failing
      2026-05-08 | ends ended_unpaid`;
    const facts = factsIn(events, tenant);
    await book(facts.filter(({ body }) => !("Standing" in body)));
    expect(await read(tenant)).to.deep.equal({ "2026-05": "1 unknown 20" });
    await book(facts.map((fact) => ({ ...fact, replay: true })));
    expect(await read(tenant)).to.deep.equal({ "2026-05": "1 lost of 20; 1 involuntary 20" });
    const differences = await viewOf(
      endpoints.service.clickhouse,
      `workspace = '${tenant.workspace}'`,
    );
    expect(differenceOf(differences)).to.deep.equal([]);
  });

  it("should move no MRR", async () => {
    const movements = async (tenant: Tenant) =>
      endpoints.service.clickhouse.rows<{ what: string }>(
        `SELECT concat(toString(at), ' ', kind, ' ', toString(sum(mrr))) AS what FROM mrr_movements
         WHERE workspace = {workspace:String} GROUP BY at, kind HAVING sum(mrr) != 0 ORDER BY what`,
        { workspace: tenant.workspace },
      );
    for (const { events } of cases) {
      const [all, silent] = [newTenant(), newTenant()];
      await book(factsIn(events, all));
      await book(factsIn(events, silent).filter(({ body }) => !("Standing" in body)));
      expect(await movements(all)).to.deep.equal(await movements(silent));
    }
  });

  describe("over HTTP", () => {
    before(async () => {
      const story = `
        subscription | provider | at         | says            | recorded
        a            | stripe   | 2026-04-03 | 20              | 2026-04-03
        a            | stripe   | 2026-05-03 | 20 failing      | 2026-05-03
        a            | stripe   | 2026-05-08 | 20              | 2026-05-08
        b            | apple    | 2026-04-04 | 10              | 2026-04-04
        b            | apple    | 2026-05-04 | failing         | 2026-05-04
        b            | apple    | 2026-05-20 | ends            | 2026-05-20
        c            | stripe   | 2026-04-05 | 40              | 2026-04-05
        c            | stripe   | 2026-06-05 | 40 failing      | 2026-06-05`;
      await book(factsIn(story, endpoints.tenant));
    });

    const get = (query: Readonly<Record<string, string>>) =>
      endpoints.get(`${path}?${new URLSearchParams(query).toString()}`);
    async function ask(query: Readonly<Record<string, string>>) {
      const answer = await get({ at: "2026-06-10T12:00:00Z", ...query });
      expect(answer.status, answer.text).to.equal(200);
      return failedPaymentsAnswer.parse(answer.json).data;
    }

    it("should count by month and of all the months, by provider too", async () => {
      const data = await ask({ from: "2026-04-01" });
      expect(data.series.map((row) => [row.month, row.is_whole, wordsOf(row)])).to.deep.equal([
        ["2026-04", true, ""],
        ["2026-05", true, "1 recovered, 1 lost of 30; 1 involuntary 10"],
        ["2026-06", false, "1 open of 40"],
      ]);
      expect(wordsOf(data)).to.equal("1 recovered, 1 lost, 1 open of 70; 1 involuntary 10");
      expect([data.currency, data.recovery_rate_pct]).to.deep.equal(["EUR", 50]);
      const apple = await ask({ from: "2026-04-01", provider: "apple" });
      expect(wordsOf(apple)).to.equal("1 lost of 10; 1 involuntary 10");
    });

    it("should be compared with failures that had as long to recover", async () => {
      const { compare } = await ask({
        from: "2026-06-01",
        at: "2026-06-06T12:00:00Z",
        compare: "previous_period",
      });
      expect(compare && wordsOf(compare)).to.equal("2 open of 30");
    });

    it("should be a row for each month as a table, then for those compared with", async () => {
      const asked = { from: "2026-05-01", compare: "previous_period", at: "2026-06-10T12:00:00Z" };
      const { series, compare } = await ask(asked);
      const { text } = await get({ ...asked, format: "ndjson" });
      const rows = jsonLines(text);
      const of = { currency: "EUR" };
      expect(rows).to.deep.equal([
        ...series.map((row) => ({ reading: "asked", ...row, ...of })),
        ...(compare?.series ?? []).map((row) => ({ reading: "compared", ...row, ...of })),
      ]);
    });
  });

  it("should be what a provider reports", async () => {
    const dayMs = 24 * 60 * 60 * 1000;
    const begun = Math.floor(Date.now() / 1000) * 1000 - 40 * dayMs;
    const price = { id: "price_month", product: "prod", currency: "eur", unitAmount: 1_000n };
    const report = async (
      id: string,
      days: number,
      status: "active" | "past_due" | "canceled",
      more: JsonObject = {},
    ) => {
      const at = begun + days * dayMs;
      const endedAt = status === "canceled" ? at : null;
      const change = days === 0 ? "created" : "updated";
      const type = status === "canceled" ? "deleted" : change;
      const items = [{ id: `si_${id}`, price: priceObject(price), quantity: 1 }];
      const given = { id, customer: `cus_${id}`, currency: "eur", status, createdAt: begun };
      const object = { ...subscriptionObject({ ...given, endedAt, items }), ...more };
      const event = { id: `evt_${id}_${days}`, type: `customer.subscription.${type}`, at, object };
      const answer = await endpoints.deliver(eventBody(stripeEvent(event)));
      expect(answer.status, answer.text).to.equal(200);
    };
    for (const id of ["sub_paid", "sub_lost", "sub_left"]) await report(id, 0, "active");
    await report("sub_paid", 10, "past_due");
    await report("sub_lost", 10, "past_due");
    await report("sub_paid", 11, "active");
    const reason = (why: string) => ({ cancellation_details: { reason: why } });
    await report("sub_lost", 12, "canceled", reason("payment_failed"));
    await report("sub_left", 12, "canceled", reason("cancellation_requested"));
    await endpoints.booked();
    const { json } = await endpoints.get(`${path}?from=${dayOf(begun)}`);
    const data = failedPaymentsAnswer.parse(json).data;
    expect(wordsOf(data)).to.equal("1 recovered, 1 lost of 20; 1 involuntary 10; 1 voluntary 10");
  });

  describe("refusing", () => {
    itRefuses(
      (asked) => endpoints.get(asked),
      [
        [`${path}?product=prod_unf_none`, 400, "parameter_unknown", "product"],
        [`${path}?provider=none`, 400, "parameter_invalid", "provider"],
        [`${path}?from=2026-10-02&to=2026-10-01`, 422, "series_empty", "from"],
      ],
    );
  });
});

function dayOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 7)}-01`;
}
