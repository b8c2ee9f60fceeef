/** What Stripe's history tells of trials: one that nobody paid for after it was never worth anything. */
import { expect } from "chai";
import { decode } from "../providers/stripe/decode.js";
import { stripeBackfill } from "../providers/stripe/backfill.js";
import {
  type JsonObject,
  priceObject,
  subscriptionObject,
  type SubscriptionInput,
} from "../providers/stripe/payloads.js";
import { rowsOf } from "./model/table.js";

const createdAt = Date.UTC(2026, 0, 1);
const dayMs = 24 * 60 * 60 * 1000;
const secondMs = 1000;
const trialDays = 14;
const readOn = 60;
const price = priceObject({
  id: "price_trial",
  product: "prod_trial",
  currency: "eur",
  unitAmount: 9900n,
});

/** Seconds after the trial's end; nothing: never. */
function sinceTrial(text: string | undefined): number | null {
  const trialEndsAt = createdAt + trialDays * dayMs;
  return text === undefined || text === "-" ? null : trialEndsAt + Number(text) * secondMs;
}

function subscription(
  status: SubscriptionInput["status"],
  endedAt: number | null,
  pause: JsonObject,
): JsonObject {
  const object = subscriptionObject({
    id: "sub_trial",
    customer: "cus_trial",
    currency: "eur",
    status,
    createdAt,
    endedAt,
    trialEndAt: createdAt + trialDays * dayMs,
    version: "2025-09-30.clover",
    items: [{ id: "si_trial", quantity: 1, price }],
  });
  return { ...object, ...pause };
}

function pauseOf(type: string | undefined, at: number | null): JsonObject {
  if (type === undefined || type === "-") return {};
  const transitioned = at === null ? null : at / 1000;
  return { status_details: { paused: { subscription: { type }, transitioned_at: transitioned } } };
}

/** `phase day: minor units a month`, days since it was created. */
function toldOf(object: JsonObject): string {
  const list = stripeBackfill.lists.find(({ name }) => name === "subscriptions");
  const page = { object: "list", data: [object], has_more: false };
  const events = list?.read(page, createdAt + readOn * dayMs)?.events ?? [];
  return events
    .flatMap(({ body }) => {
      const decoded = decode(body);
      return decoded.outcome === "facts" ? decoded.facts : [];
    })
    .flatMap(({ body }) => ("Subscription" in body ? [body.Subscription] : []))
    .flatMap(({ phase, steps }) =>
      steps.map(({ at, items }) => {
        const worth = items.reduce((sum, item) => sum + item.monthly_numerator, 0n);
        return `${phase} ${Math.floor((at - createdAt) / dayMs)}: ${worth}`;
      }),
    )
    .join("; ");
}

describe("A trial in the history of Stripe", () => {
  const cases = rowsOf(`
    what                             | status   | ended   | paused for                       | paused  | told
    is over and goes on a moment     | trialing | -       | -                                | -       | started 0: 0; changed 13: 0
    was converted                    | active   | -       | -                                | -       | started 0: 0; changed 14: 9900; changed 60: 9900
    was converted, and goes unpaid   | past_due | -       | -                                | -       | started 0: 0; changed 14: 9900; changed 60: 9900
    was cancelled before its end     | canceled | -864000 | -                                | -       | started 0: 0; ended 4: 0
    was cancelled with it            | canceled | 0       | -                                | -       | started 0: 0; ended 14: 0
    was cancelled seconds after it   | canceled | 5       | -                                | -       | started 0: 0; ended 14: 0
    was cancelled an hour after it   | canceled | 3600    | -                                | -       | started 0: 0; ended 14: 0
    was cancelled in the second hour | canceled | 3601    | -                                | -       | started 0: 0; changed 14: 9900; ended 14: 0
    is paused, nobody says why       | paused   | -       | -                                | -       | started 0: 0; changed 60: 0
    is paused for its end            | paused   | -       | trial_end_without_payment_method | 2       | started 0: 0; changed 60: 0
    was converted, then paused       | paused   | -       | pause_requested                  | 864000  | started 0: 0; changed 14: 9900; changed 60: 0
    was converted, paused some time  | paused   | -       | final_payment_failure            | -       | started 0: 0; changed 14: 9900; changed 60: 0
    was paused on request within it  | paused   | -       | pause_requested                  | -864000 | started 0: 0; changed 60: 0
  `);
  for (const row of cases) {
    it(`should be told that ${row["what"]}: ${row["told"]}`, () => {
      const [status] = statuses.filter((known) => known === row["status"]);
      if (status === undefined) throw new Error(`no status ${row["status"]}`);
      const pause = pauseOf(row["paused for"], sinceTrial(row["paused"]));
      expect(toldOf(subscription(status, sinceTrial(row["ended"]), pause))).to.equal(row["told"]);
    });
  }
});

const statuses = ["trialing", "active", "past_due", "canceled", "paused"] as const;
