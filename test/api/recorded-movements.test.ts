/** MRR movements one by one: the list and the public topic report the same rows. */
import { expect } from "chai";
import { showMrr } from "../../api/reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { eventBody } from "../../ops/payloads/stripe.js";
import { movementKinds } from "../../schemas/records/records.js";
import {
  type RecordedMovement,
  recordedMovementsAnswer,
} from "../../api/recorded-movements/schema.js";
import { type MovementRecord, movementCodec, topics } from "../../schemas/records/records.js";
import { recordsOf } from "../chaos/raw-events.js";
import { discountedSubscription } from "../harness/discounted.js";
import { itRefuses, jsonLines, suiteEndpoints } from "../harness/endpoints.js";
import { must } from "../model/readers/json.js";

const dayMs = 24 * 3_600_000;
const path = "/v1/mrr-movements";
/** A second ago, whole: Stripe reports seconds. */
const startedAt = Math.floor(Date.now() / 1000 - 1) * 1000;
const discountEndsAt = startedAt + 30 * dayMs;

describe("GET /v1/mrr-movements", () => {
  const endpoints = suiteEndpoints();
  /** Between what was reported first and last. */
  let between: string;
  let reported: MovementRecord[];
  before(async () => {
    const lasts = { startedAt, endsAt: discountEndsAt };
    const discounted = discountedSubscription(`evt_discounted_${process.pid}`, lasts);
    await endpoints.deliver(eventBody(discounted));
    // Several subscriptions of one account begin at one moment.
    for (const name of ["a", "b", "c"]) await subscribe(name, 10, startedAt - dayMs);
    between = await booked();
    await subscribe("late", 7.5, startedAt - 40 * dayMs);
    await subscribe("b", 12.34, startedAt);
    await booked();
    reported = await published();
  });

  async function subscribe(name: string, amount: number, at: number): Promise<void> {
    await endpoints.record({
      event_type: "subscription.new",
      event_id: `${name} ${at}`,
      subscription_id: name,
      customer_id: "one",
      product_id: "plan",
      amount,
      occurred_at: new Date(at).toISOString(),
    });
  }

  const booked = () => endpoints.booked();

  async function published(): Promise<MovementRecord[]> {
    const records: MovementRecord[] = [];
    for await (const { value } of recordsOf(endpoints.service.log, topics.movements)) {
      const record = movementCodec.decode(value);
      if (record.workspace === endpoints.workspace) records.push(record);
    }
    return records;
  }

  async function walk(query = ""): Promise<RecordedMovement[]> {
    const rows: RecordedMovement[] = [];
    for (let next: string | null = query; next !== null;) {
      const answer = await get(`${path}?${next}`);
      expect(answer.status, answer.text).to.equal(200);
      const { data, pagination } = recordedMovementsAnswer.parse(answer.json);
      rows.push(...data);
      next = pagination.next_cursor === null ? null : `cursor=${pagination.next_cursor}`;
    }
    return rows;
  }

  function get(url: string, accept = "application/json") {
    return endpoints.call(url, {
      headers: { authorization: `Bearer ${endpoints.readKey}`, accept },
    });
  }

  it("should be what the topic reported, each once, what lies ahead included", async () => {
    const rows = await walk();
    expect(rows.map(asReported)).to.have.deep.members(reported.map(essence));
    expect(reported.filter(({ at }) => at === discountEndsAt)).to.have.length(1);
  });

  it("should be the same rows page by page, where many are of one moment", async () => {
    const rows = await walk();
    for (const limit of [1, 2, 3]) expect(await walk(`limit=${limit}`)).to.deep.equal(rows);
  });

  it("should be in order of time, newest first", async () => {
    const times = (await walk()).map(({ at }) => Date.parse(at));
    expect(times).to.deep.equal([...times].sort((one, other) => other - one));
  });

  it("should be in the order that is asked for, page by page", async () => {
    const byMrr = (row: RecordedMovement) => Number(mrrOf(row.mrr_exact));
    const byTime = (row: RecordedMovement) => Date.parse(row.at);
    const ids = (rows: readonly RecordedMovement[]) => rows.map(({ id }) => id);
    const all = await walk();
    for (const [column, key] of [
      ["mrr", byMrr],
      ["at", byTime],
    ] as const) {
      for (const sign of ["", "-"]) {
        const rows = await walk(`sort=${sign}${column}`);
        const keys = rows.map(key);
        const step = sign === "" ? 1 : -1;
        expect(keys).to.deep.equal(keys.toSorted((one, other) => step * (one - other)));
        expect(ids(rows)).to.have.members(ids(all));
        for (const limit of [1, 2, 3]) {
          expect(ids(await walk(`sort=${sign}${column}&limit=${limit}`))).to.deep.equal(ids(rows));
        }
      }
    }
    expect(ids(await walk("sort=-at"))).to.deep.equal(ids(all));
  });

  it("should report on each page what all of them add up to", async () => {
    for (const query of ["", "kind=new", "provider=stripe&kind=contraction"]) {
      const rows = await walk(query);
      const exact = rows.reduce((sum, row) => sum + mrrOf(row.mrr_exact), 0n);
      for (let next: string | null = `limit=2&${query}`; next !== null;) {
        const { json } = await get(`${path}?${next}`);
        const { totals, pagination } = recordedMovementsAnswer.parse(json);
        expect(totals).to.include({ movements: rows.length, mrr: showMrr(exact, "EUR") });
        expect(mrrOf(totals.mrr_exact)).to.equal(exact);
        next = pagination.next_cursor === null ? null : `cursor=${pagination.next_cursor}`;
      }
    }
  });

  const day = (at: number) => new Date(at).toISOString();
  const filters: readonly (readonly [query: string, has: (row: RecordedMovement) => boolean])[] = [
    ["kind=new", ({ kind }) => kind === "new"],
    ["kind=new,churn", ({ kind }) => kind === "new" || kind === "churn"],
    ["kind=-new", ({ kind }) => kind !== "new"],
    ["kind=expansion&provider=custom", (row) => row.kind + row.provider === "expansioncustom"],
    ["provider=stripe", ({ provider }) => provider === "stripe"],
    ["currency=EUR", ({ currency }) => currency === "EUR"],
    ["country=ZZ", ({ country }) => country === "ZZ"],
    [`from=${day(startedAt)}`, ({ at }) => Date.parse(at) >= startedAt],
    [`to=${day(startedAt)}`, ({ at }) => Date.parse(at) < startedAt],
    [
      `from=${day(startedAt - dayMs)}&to=${day(startedAt - dayMs + 1)}`,
      ({ at }) => Date.parse(at) === startedAt - dayMs,
    ],
  ];
  for (const [query, has] of filters) {
    it(`should be filtered by ${query.replaceAll(/=\d[^&]+/g, "")}, page by page`, async () => {
      const expected = (await walk()).filter(has);
      expect(expected).not.to.deep.equal([]);
      expect(await walk(query)).to.deep.equal(expected);
      expect(await walk(`limit=1&${query}`)).to.deep.equal(expected);
      const { headers } = await get(`${path}?${query}`, "application/x-ndjson");
      expect(headers.get("x-total-count")).to.equal(String(expected.length));
    });
  }

  it("should be filtered by account and by product", async () => {
    const rows = await walk();
    const { account, product_id: product } = must(rows.at(-1), "a movement");
    expect(await walk(`account=${account}`)).to.deep.equal(
      rows.filter((row) => row.account === account),
    );
    expect(await walk(`product=${product}`)).to.deep.equal(
      rows.filter((row) => row.product_id === product),
    );
  });

  it("should add up to the same cell of the series", async () => {
    const [from, to] = [startedAt - 60 * dayMs, startedAt + dayMs].map((at) =>
      day(at).slice(0, 10),
    );
    const days = `from=${from}&to=${to}&currency=EUR&at=${day(Date.now() - 1)}`;
    const { json } = await get(`/v1/metrics/mrr/movements?${days}`);
    for (const kind of movementKinds) {
      const rows = await walk(`${days}&kind=${kind}`);
      const sum = rows.reduce((all, row) => all + mrrOf(row.mrr_exact), 0n);
      expect(json.data.totals[`${kind}_mrr`], kind).to.equal(showMrr(sum, "EUR"));
    }
  });

  it("should be gone on from by what the topic recorded later", async () => {
    const loaded = await walk(`known_at=${between}`);
    const later = reported.filter(({ recorded_at: at }) => at > Date.parse(between));
    expect([loaded.length, later.length]).not.to.include(0);
    expect([...loaded.map(asReported), ...later.map(essence)]).to.have.deep.members(
      (await walk()).map(asReported),
    );
  });

  it("should say what happened up to a moment, which adds up to MRR", async () => {
    const at = new Date(startedAt + 1000).toISOString();
    const rows = await walk(`at=${at}`);
    const sum = rows.reduce((all, row) => all + mrrOf(row.mrr_exact), 0n);
    const { json } = await get(`/v1/metrics/mrr?at=${at}`);
    expect(json.data.current_mrr).to.equal(showMrr(sum, "EUR"));
    expect((await walk()).length).to.be.above(rows.length);
  });

  it("should be exported as of the moments it says", async () => {
    const { headers, text } = await get(path, "application/x-ndjson");
    const rows = jsonLines(text);
    expect(rows).to.deep.equal(await walk());
    expect(headers.get("x-total-count")).to.equal(String(reported.length));
    const clocks = `at=${headers.get("x-at")}&known_at=${headers.get("x-known-at")}`;
    expect((await get(`${path}?${clocks}`, "application/x-ndjson")).text).to.equal(text);
  });

  const ahead = new Date(Date.now() + dayMs).toISOString();
  itRefuses(
    (query) => get(`${path}?${query}`),
    [
      ["from=2026-02-01&to=2026-01-01", 422, "range_backwards", "from"],
      [`known_at=${ahead}`, 422, "moment_in_future", "known_at"],
    ],
  );
});

/** A row in the terms of a message. */
function asReported(row: RecordedMovement) {
  const { product_id: _id, product_name: _name, mrr_exact: exact, ...same } = row;
  const [at, recorded] = [Date.parse(row.at), Date.parse(row.recorded_at)];
  return { ...same, mrr: Number(exact), at, recorded_at: recorded };
}

/** As the list has it: only the topic knows whether a history was read. */
function essence(record: MovementRecord) {
  const { workspace: _workspace, environment: _live, backfill: _read, ...reported } = record;
  return { ...reported, mrr: Number(reported.mrr) };
}
