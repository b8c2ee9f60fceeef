/** Trials by month of start, and what became of them: small tables to check by hand. */
import { expect } from "chai";
import * as fc from "fast-check";
import { type TrialsAnswer, trialsAnswer } from "../../api/trials/schema.js";
import { presentTrials } from "../../api/trials/route.js";
import { type TrialsRow, trialsQuery } from "../../api/trials/query.js";
import { rowsOf as readRows } from "../../api/reading/reading.js";
import { readMonths } from "../../api/rates/months.js";
import { insertChanges } from "../../processors/book/subscriptions/changes.js";
import {
  eventBody,
  priceObject,
  stripeEvent,
  subscriptionObject,
} from "../../ops/payloads/stripe.js";
import { grouped } from "../../runtime/lists.js";
import { transferSuffix } from "../../schemas/movements.js";
import { type Change, timeOf, trialPrice } from "../../schemas/subscriptions/change.js";
import { stepsOf } from "../../schemas/subscriptions/worth.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { itRefuses, jsonLines, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { type Tenant, newTenant } from "../harness/query-rows.js";
import { cell, momentOf, rowsOf } from "../model/tables/table.js";

const path = "/v1/metrics/trials";
const phases = ["expired", "started", "changed", "ended"] as const;

/**
 * Steps are `trial`, a price, `0` (a free plan) or `nothing`; later ones follow with their day, as
 * in `trial, 2026-05-17 10`. What is left out has a plain value.
 */
function changesIn(table: string, tenant: Tenant): Change[] {
  return rowsOf(table).map((row, index) => {
    const at = momentOf(cell(row, "at"));
    const id = row["id"] ?? `evt ${String(index).padStart(2, "0")}:0`;
    const phase = phases.find((each) => each === cell(row, "phase"));
    if (phase === undefined) throw new Error(`no phase ${cell(row, "phase")}`);
    const [first = "", ...later] = cell(row, "steps").split(", ");
    const steps = [
      stepOf(at, first),
      ...later.map((step) => {
        const [day = "", items = ""] = step.split(" ");
        return stepOf(momentOf(day), items);
      }),
    ];
    return {
      ...tenant,
      account: row["account"] ?? "someone",
      provider: row["provider"] ?? "stripe",
      subscription: row["subscription"] ?? "sub",
      change_id: id,
      revision: Number(row["revision"] ?? 1),
      void: row["void"] === "1" ? 1 : 0,
      at: clickhouseTime(at),
      phase,
      event_id: id,
      recorded_at: clickhouseTime(row["recorded"] ? momentOf(row["recorded"]) : at),
      currency: "EUR",
      country: "",
      steps,
    };
  });
}

function stepOf(at: number, items: string): Change["steps"][number] {
  const time = clickhouseTime(at);
  if (items === "nothing") return { at: time, items: [] };
  const [price, mrr] = items === "trial" ? [trialPrice, "0"] : [`EUR:${items}00/1`, items];
  return { at: time, items: [{ item: "item", external_id: "plan", price, mrr }] };
}

/** As MRR goes over changes, of each subscription that had a trial. */
function fates(changes: readonly Change[], at: string) {
  const newest = grouped(changes, ({ change_id: id }) => id);
  const counting = [...newest.values()].flatMap((revisions) => {
    const last = revisions.toSorted((one, other) => other.revision - one.revision)[0];
    return last === undefined || last.void === 1 || last.at > at ? [] : [last];
  });
  const found = new Map<string, { readonly began: string; readonly fate: string }>();
  for (const [name, some] of grouped(counting, ({ subscription }) => subscription)) {
    const own = some.toSorted((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
    const moments = own.flatMap((change, index) => stepsOf(change, own[index + 1]));
    const began = moments.find(({ items }) => items[0]?.price === trialPrice)?.at;
    if (began === undefined) continue;
    const isPaid = moments.some(
      (step) => step.at >= began && step.at <= at && step.items.some(({ mrr }) => mrr === "10"),
    );
    const isOver = ["expired", "ended"].includes(own.at(-1)?.phase ?? "");
    found.set(name, { began, fate: isPaid ? "converted" : isOver ? "lost" : "open" });
  }
  return found;
}

const dayMs = 24 * 60 * 60 * 1000;
const price = { id: "price_month", product: "prod", currency: "eur", unitAmount: 1_000n };

interface Case {
  readonly title: string;
  readonly changes: string;
  readonly at?: string;
  readonly knownAt?: string;
  /** Months with any: started, converted, lost, open. */
  readonly expected: Readonly<Record<string, readonly [number, number, number, number]>>;
}

const cases: readonly Case[] = [
  {
    title: "as converted what a later change makes paid",
    changes: `
      at         | phase   | steps
      2026-05-03 | started | trial
      2026-05-17 | changed | 10`,
    expected: { "2026-05": [1, 1, 0, 0] },
  },
  {
    title: "as converted what a step of the same change makes paid, once it comes",
    changes: `
      subscription | at         | phase   | steps
      over         | 2026-05-03 | started | trial, 2026-05-17 10
      open         | 2026-06-03 | started | trial, 2026-06-17 10`,
    expected: { "2026-05": [1, 1, 0, 0], "2026-06": [1, 0, 0, 1] },
  },
  {
    title: "as lost what ended before its announced paid step",
    changes: `
      subscription | at         | phase   | steps
      ended        | 2026-05-03 | started | trial, 2026-05-17 10
      ended        | 2026-05-10 | ended   | nothing
      expired      | 2026-05-03 | started | trial
      expired      | 2026-05-17 | expired | nothing
      as-it-ended  | 2026-05-03 | started | trial, 2026-05-17 10
      as-it-ended  | 2026-05-17 | ended   | nothing`,
    expected: { "2026-05": [3, 0, 3, 0] },
  },
  {
    title: "as converted what ended after it was paid",
    changes: `
      at         | phase   | steps
      2026-05-03 | started | trial, 2026-05-17 10
      2026-05-18 | ended   | nothing`,
    expected: { "2026-05": [1, 1, 0, 0] },
  },
  {
    title: "an extended trial once, where it first began",
    changes: `
      at         | phase   | steps
      2026-04-29 | started | trial
      2026-05-13 | changed | trial
      2026-05-27 | changed | 10`,
    expected: { "2026-04": [1, 1, 0, 0] },
  },
  {
    title: "as open what only pauses, or ends later than asked for",
    changes: `
      subscription | at         | phase   | steps
      paused       | 2026-05-03 | started | trial
      paused       | 2026-05-17 | changed | nothing
      later        | 2026-05-03 | started | trial
      later        | 2026-06-12 | ended   | nothing`,
    expected: { "2026-05": [2, 0, 0, 2] },
  },
  {
    title: "as open what is paid later than asked for",
    changes: `
      at         | phase   | steps
      2026-05-03 | started | trial
      2026-06-12 | changed | 10`,
    expected: { "2026-05": [1, 0, 0, 1] },
  },
  {
    title: "neither a free plan as paid, nor what was paid before the trial",
    changes: `
      subscription | at         | phase   | steps
      free         | 2026-05-03 | started | trial, 2026-05-17 0
      before       | 2026-05-03 | started | 10
      before       | 2026-05-17 | changed | trial`,
    expected: { "2026-05": [2, 0, 0, 2] },
  },
  {
    title: "none without a trial, or with one that never came true",
    changes: `
      subscription | at         | phase   | steps
      paid         | 2026-05-03 | started | 10
      at-once      | 2026-05-03 | started | trial
      at-once      | 2026-05-03 | changed | 10`,
    expected: {},
  },
  {
    title: "each in the month in which it began, to the millisecond",
    changes: `
      subscription | at                      | phase   | steps
      a            | 2026-04-30 23:59:59.999 | started | trial
      b            | 2026-05-01 00:00        | started | trial
      c            | 2026-05-31 23:59:59.999 | started | trial
      d            | 2026-06-01 00:00        | started | trial`,
    expected: { "2026-04": [1, 0, 0, 1], "2026-05": [2, 0, 0, 2], "2026-06": [1, 0, 0, 1] },
  },
  {
    title: "what the greatest revision says, and nothing that was taken back",
    changes: `
      subscription | id | revision | void | at         | phase   | steps
      learned      | a  | 1        | 0    | 2026-05-03 | started | nothing
      learned      | a  | 2        | 0    | 2026-05-03 | started | trial
      void-trial   | b  | 1        | 0    | 2026-05-03 | started | trial
      void-trial   | b  | 2        | 1    | 2026-05-03 | started | trial
      void-payment | c  | 1        | 0    | 2026-05-03 | started | trial
      void-payment | d  | 1        | 0    | 2026-05-17 | changed | 10
      void-payment | d  | 2        | 1    | 2026-05-17 | changed | 10`,
    expected: { "2026-05": [2, 0, 0, 2] },
  },
  {
    title: "a trial once that went to another account",
    changes: `
      account | subscription | at         | phase   | steps   | id
      one x   | x            | 2026-05-03 | started | trial   | x1
      one x   | x            | 2026-05-10 | changed | nothing | x2${transferSuffix}
      other x | x            | 2026-05-10 | changed | trial   | x2
      other x | x            | 2026-05-17 | changed | 10      | x3
      one y   | y            | 2026-05-03 | started | trial   | y1
      one y   | y            | 2026-05-10 | changed | nothing | y2${transferSuffix}
      other y | y            | 2026-05-10 | changed | trial   | y2
      other y | y            | 2026-05-17 | changed | 10      | y3
      one z   | z            | 2026-05-03 | started | trial   | z1
      one z   | z            | 2026-05-10 | changed | nothing | z2${transferSuffix}
      other z | z            | 2026-05-10 | changed | 10      | z2`,
    expected: { "2026-05": [3, 3, 0, 0] },
  },
  {
    title: "what was known then",
    changes: `
      subscription | at         | recorded   | phase   | steps
      a            | 2026-05-03 | 2026-05-03 | started | trial
      a            | 2026-05-17 | 2026-05-20 | changed | 10
      b            | 2026-05-03 | 2026-05-20 | started | trial`,
    knownAt: "2026-05-19",
    expected: { "2026-05": [1, 0, 0, 1] },
  },
];

describe("GET /v1/metrics/trials", () => {
  const endpoints = suiteEndpoints();

  for (const { title, changes, at = "2026-06-10 12:00", knownAt, expected } of cases) {
    it(`should count ${title}`, async () => {
      const { service } = endpoints;
      const tenant = newTenant();
      await insertChanges(service.clickhouse, changesIn(changes, tenant));
      const asOf = {
        ...tenant,
        at: momentOf(at),
        knownAt: knownAt === undefined ? null : momentOf(knownAt),
      };
      const started = { months: readMonths({}, asOf), asOf };
      const rows = await readRows<TrialsRow>(service, trialsQuery(started, {}));
      const { series } = presentTrials(rows, started);
      const shown = series.flatMap((row) =>
        row.started === 0
          ? []
          : [[row.month, [row.started, row.converted, row.lost, row.open]] as const],
      );
      expect(Object.fromEntries(shown)).to.deep.equal(expected);
    });
  }

  it("should count as steps come true, whatever happened and came late", async () => {
    const days = ["2026-04-30", "2026-05-01", "2026-05-17", "2026-06-01"];
    const later = fc.constantFrom("", ", 2026-05-17 10", ", 2026-05-20 10", ", 2026-06-20 10");
    const row = fc.record({
      subscription: fc.integer({ min: 1, max: 60 }).map(String),
      at: fc.constantFrom(...days, "2026-06-15"),
      recorded: fc.constantFrom("2026-06-15", "2026-07-15"),
      phase: fc.constantFrom(...phases),
      first: fc.constantFrom("trial", "trial", "10", "0", "nothing"),
      later,
      id: fc.integer({ min: 1, max: 4 }).map((id) => `evt ${id}`),
      void: fc.constantFrom("0", "0", "0", "1"),
    } as const);
    const [drawn = []] = fc.sample(fc.array(row, { minLength: 300, maxLength: 300 }), {
      numRuns: 1,
      seed: 31,
    });
    const lines = drawn.map((each, revision) => {
      const { subscription, at, recorded, phase, first } = each;
      const id = `${subscription} ${each.id}`;
      const steps = `${first}${each.later}`;
      return [subscription, at, recorded, phase, steps, id, revision + 1, each.void].join(" | ");
    });
    const head = "subscription | at | recorded | phase | steps | id | revision | void";
    const tenant = newTenant();
    const changes = changesIn([head, ...lines].join("\n"), tenant);
    const { service } = endpoints;
    await insertChanges(service.clickhouse, changes);
    for (const knownAt of [null, momentOf("2026-07-01")]) {
      const asOf = { ...tenant, at: momentOf("2026-06-10"), knownAt };
      const months = readMonths({}, asOf);
      const rows = await readRows<TrialsRow>(service, trialsQuery({ months, asOf }, {}));
      const { series } = presentTrials(rows, { months });
      const known = changes.filter(({ recorded_at: at }) => {
        return knownAt === null || at <= clickhouseTime(knownAt);
      });
      const expected = fates(known, clickhouseTime(asOf.at));
      expect(expected.size).to.be.greaterThan(15);
      for (const { month, started, converted, lost } of series) {
        const those = [...expected.values()].filter(({ began }) => began.startsWith(month));
        const count = (fate: string) => those.filter((each) => each.fate === fate).length;
        const counted = [those.length, count("converted"), count("lost")];
        expect([started, converted, lost], month).to.deep.equal(counted);
      }
    }
  });

  it("should be what a provider reports", async () => {
    const fresh = await openEndpoints();
    const begun = Math.floor(Date.now() / 1000) * 1000 - 40 * dayMs;
    const trialEndAt = begun + 14 * dayMs;
    const report = async (id: string, type: string, at: number, status: "trialing" | "active") => {
      const object = subscriptionObject({
        id,
        customer: `cus_${id}`,
        currency: "eur",
        status,
        createdAt: begun,
        trialEndAt,
        items: [{ id: `si_${id}`, price: priceObject(price), quantity: 1 }],
      });
      const event = stripeEvent({ id: `evt_${id}_${status}`, type, at, object });
      const answer = await fresh.deliver(eventBody(event));
      expect(answer.status, answer.text).to.equal(200);
    };
    await report("sub_paid", "customer.subscription.created", begun, "trialing");
    await report("sub_paid", "customer.subscription.updated", trialEndAt, "active");
    await report("sub_open", "customer.subscription.created", begun, "trialing");
    await fresh.booked();
    const month = new Date(begun).toISOString().slice(0, 7);
    const { json } = await fresh.get(`${path}?from=${month}-01`);
    const { series } = trialsAnswer.parse(json).data;
    expect(series[0]).to.include({ month, started: 2, converted: 1, lost: 0, open: 1 });
  });

  describe("over HTTP", () => {
    before(async () => {
      const story = `
        subscription | provider | at         | phase   | steps
        a            | stripe   | 2026-04-03 | started | trial, 2026-04-17 10
        b            | stripe   | 2026-05-03 | started | trial
        b            | stripe   | 2026-06-20 | changed | 10
        c            | apple    | 2026-05-04 | started | trial
        c            | apple    | 2026-05-11 | expired | nothing
        d            | stripe   | 2026-05-05 | started | trial, 2026-05-19 10
        e            | stripe   | 2026-06-02 | started | trial`;
      await insertChanges(endpoints.service.clickhouse, changesIn(story, endpoints.tenant));
    });

    const get = (query: Readonly<Record<string, string>>) =>
      endpoints.get(`${path}?${new URLSearchParams(query).toString()}`);
    async function ask(query: Readonly<Record<string, string>>): Promise<TrialsAnswer["data"]> {
      const answer = await get({ at: "2026-06-10T12:00:00Z", ...query });
      expect(answer.status, answer.text).to.equal(200);
      return trialsAnswer.parse(answer.json).data;
    }
    const counts = (row: Omit<TrialsAnswer["data"], "series" | "since" | "until" | "compare">) => [
      row.started,
      row.converted,
      row.lost,
      row.open,
      row.conversion_rate_pct,
    ];

    it("should count by month and of all the months, up to now", async () => {
      const data = await ask({ from: "2026-03-01" });
      expect(data.series.map((row) => [row.month, row.is_whole, ...counts(row)])).to.deep.equal([
        ["2026-03", true, 0, 0, 0, 0, null],
        ["2026-04", true, 1, 1, 0, 0, 100],
        ["2026-05", true, 3, 1, 1, 1, 33.33],
        ["2026-06", false, 1, 0, 0, 1, 0],
      ]);
      expect(counts(data)).to.deep.equal([5, 2, 1, 2, 40]);
      expect(data.until).to.equal("2026-06-10T12:00:00.000Z");
    });

    it("should count conversions after the months, and by provider", async () => {
      const may = { from: "2026-05-01", to: "2026-06-01" };
      expect(counts(await ask(may))).to.deep.equal([3, 1, 1, 1, 33.33]);
      const july = { ...may, at: "2026-07-01" };
      expect(counts(await ask(july))).to.deep.equal([3, 2, 1, 0, 66.67]);
      expect(counts(await ask({ ...may, provider: "apple" }))).to.deep.equal([1, 0, 1, 0, 0]);
    });

    it("should be compared with trials that had as long to convert, or as known then", async () => {
      const { compare } = await ask({
        from: "2026-05-01",
        to: "2026-06-01",
        compare: "previous_period",
      });
      // Up to 10 May.
      expect(compare && counts(compare)).to.deep.equal([1, 1, 0, 0, 100]);
      const june = { from: "2026-06-01", compare: "previous_period" };
      const running = await ask(june);
      expect(counts(running)).to.deep.equal([1, 0, 0, 1, 0]);
      expect(running.compare && counts(running.compare)).to.deep.equal([3, 0, 0, 3, 0]);
      const known = { compare: "known_then", compare_known_at: "2026-05-04T12:00:00Z" };
      const then = await ask({ from: "2026-05-01", to: "2026-06-01", ...known });
      expect(then.compare && counts(then.compare)).to.deep.equal([2, 0, 0, 2, 0]);
      const first = { from: "1970-01-01", to: "1970-02-01", compare: "previous_year" };
      expect((await ask(first)).compare).to.equal(null);
    });

    it("should be a row for each month as a table, then for those compared with", async () => {
      const asked = { from: "2026-05-01", compare: "previous_year", at: "2026-06-10T12:00:00Z" };
      const { series, compare } = await ask(asked);
      const { text } = await get({ ...asked, format: "ndjson" });
      const rows = jsonLines(text);
      expect(rows).to.deep.equal([
        ...series.map((row) => ({ reading: "asked", ...row })),
        ...(compare?.series ?? []).map((row) => ({ reading: "compared", ...row })),
      ]);
      const csv = await get({ from: "2026-05-01", format: "csv" });
      expect(csv.text.split("\r\n")[0]).to.equal(
        "month,until,is_whole,started,converted,lost,open,conversion_rate_pct",
      );
    });
  });

  describe("refusing", () => {
    itRefuses(
      (asked) => endpoints.get(asked),
      [
        [`${path}?product=prod_unf_none`, 400, "parameter_unknown", "product"],
        [`${path}?country=DE`, 400, "parameter_unknown", "country"],
        [`${path}?currency=EUR`, 400, "parameter_unknown", "currency"],
        [`${path}?provider=none`, 400, "parameter_invalid", "provider"],
        [`${path}?interval=week`, 400, "parameter_unknown", "interval"],
        [`${path}?from=2026-10-02&to=2026-10-01`, 422, "series_empty", "from"],
        [`${path}?compare=known_then`, 400, "parameter_missing", "compare_known_at"],
      ],
    );
  });
});
