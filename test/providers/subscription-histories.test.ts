/** What the present state of a subscription of Polar and Chargebee reveals about its past. */
import { expect } from "chai";
import * as chargebee from "../payloads/chargebee.js";
import * as polar from "../payloads/polar.js";
import type { Backfill } from "../../providers/backfill.js";
import { chargebeeBackfill } from "../../providers/chargebee/history/backfill.js";
import { polarBackfill } from "../../providers/polar/history/backfill.js";
import { statesOf } from "../harness/decoded.js";
import { providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";
import { cell, type Row, rowsOf } from "../model/tables/table.js";

const dayMs = 24 * 60 * 60 * 1000;
const start = Date.UTC(2026, 0, 1);
const onDay = (day: number): number => start + day * dayMs;
const span = { from: start, to: onDay(100) };

/** `day: minor units a month`, or `trial`, days since it was created. */
function reportedIn(token: "polar" | "chargebee", backfill: Backfill, answer: object): string {
  const list = must(
    backfill.lists.find(({ name }) => name === "subscriptions"),
    "a list",
  );
  const { events } = must(list.read(answer, onDay(100), span, null), "a page");
  const states = events.flatMap(({ body }) =>
    statesOf(must(providers.get(token), "an adapter").decode(body)),
  );
  return states
    .flatMap(({ steps, trial }) => steps.map((step) => ({ ...step, trial })))
    .map(({ at, items, trial }) => {
      const worth = items.reduce((sum, item) => sum + item.monthly_numerator, 0n);
      return `${(at - start) / dayMs}: ${trial === true ? "trial" : worth}`;
    })
    .join("; ");
}

const dayIn = (row: Row, name: string): number | null =>
  cell(row, name) === "-" ? null : onDay(Number(cell(row, name)));

describe("A subscription in a history", () => {
  // Days; of its trial the first and the last.
  const cases = rowsOf(`
    provider  | status             | now | trial | until | ended | reported
    polar     | active             | 60  | -     | -     | -     | 0: 990; 60: 990
    polar     | past_due           | 60  | -     | -     | -     | 0: 990; 60: 990
    polar     | unpaid             | 60  | -     | -     | -     | 0: 990; 60: 0
    polar     | canceled           | 60  | -     | -     | 50    | 0: 990; 50: 0
    polar     | trialing           | 5   | 0     | 14    | -     | 0: trial; 5: trial
    polar     | active             | 60  | 0     | 14    | -     | 0: trial; 14: 990; 60: 990
    polar     | canceled           | 14  | 0     | 14    | 14    | 0: trial; 14: 0
    polar     | canceled           | 40  | 0     | 14    | 40    | 0: trial; 14: 990; 40: 0
    polar | active | 60 | 20 | 34 | - | 0: 990; 20: trial; 34: 990; 60: 990
    polar     | incomplete_expired | 1   | -     | -     | -     | 
    chargebee | active             | 60  | -     | -     | -     | 0: 990; 60: 990
    chargebee | non_renewing       | 60  | -     | -     | -     | 0: 990; 60: 990
    chargebee | paused             | 60  | -     | -     | -     | 0: 990; 60: 0
    chargebee | cancelled          | 60  | -     | -     | 50    | 0: 990; 50: 0
    chargebee | in_trial           | 5   | 0     | 14    | -     | 0: trial; 5: trial
    chargebee | active             | 60  | 0     | 14    | -     | 0: trial; 14: 990; 60: 990
    chargebee | cancelled          | 14  | 0     | 14    | 14    | 0: trial; 14: 0
    chargebee | cancelled          | 40  | 0     | 14    | 40    | 0: trial; 14: 990; 40: 0
  `);
  for (const row of cases) {
    const [provider, status] = [cell(row, "provider"), cell(row, "status")];
    it(`should be read of ${provider}, ${status}: ${cell(row, "reported")}`, () => {
      const reported = provider === "polar" ? ofPolar(row) : ofChargebee(row);
      expect(reported).to.equal(cell(row, "reported"));
    });
  }
});

function ofPolar(row: Row): string {
  const [now, trial] = [must(dayIn(row, "now"), "a day"), dayIn(row, "trial")];
  const subscription = polar.subscriptionObject({
    id: 9,
    customer: 7,
    product: 3,
    currency: "EUR",
    amount: 990n,
    status: cell(row, "status"),
    createdAt: start,
    modifiedAt: now,
    trialEndsAt: dayIn(row, "until"),
    endedAt: dayIn(row, "ended"),
  });
  const began = trial === null ? {} : { trial_start: new Date(trial).toISOString() };
  const items = [{ ...subscription, ...began }];
  return reportedIn("polar", polarBackfill, { items, pagination: { max_page: 1 } });
}

function ofChargebee(row: Row): string {
  const [now, until] = [must(dayIn(row, "now"), "a day"), dayIn(row, "until")];
  const status = cell(row, "status");
  const subscription = chargebee.subscriptionObject({
    id: "sub9",
    customer: "cus7",
    currency: "EUR",
    items: [{ price: "tides", amount: 990n }],
    status,
    startedAt: start,
    trialEndsAt: until,
    // One that ended with its trial was never activated.
    activatedAt: until === null || status === "in_trial" || until === now ? null : until,
    cancelledAt: dayIn(row, "ended"),
    version: now,
  });
  return reportedIn("chargebee", chargebeeBackfill, { list: [{ subscription }] });
}
