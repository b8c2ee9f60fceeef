/** Trials in Stripe's history: one that nobody paid for after its end was never worth anything. */
import { expect } from "chai";
import { anyTime, type HistoryEvent } from "../../providers/backfill.js";
import { decode } from "../../providers/stripe/decode.js";
import { stripeBackfill } from "../../providers/stripe/history/backfill.js";
import type { JsonObject, SubscriptionInput } from "../../ops/payloads/stripe.js";
import { dayMs, secondMs } from "../harness/days.js";
import { stripeSubscription, worthByDay } from "../harness/decoded.js";
import { rowsOf } from "../model/tables/table.js";

const createdAt = Date.UTC(2026, 0, 1);
const trialDays = 14;
const readOn = 60;

/** Seconds after the trial's end; nothing: never. */
function sinceTrial(text: string | undefined): number | null {
  const trialEndsAt = createdAt + trialDays * dayMs;
  return text === undefined || text === "-" ? null : trialEndsAt + Number(text) * secondMs;
}

function subscription(
  status: SubscriptionInput["status"],
  endedAt: number | null,
  more: JsonObject,
  quantity = 1,
): JsonObject {
  const trialEndAt = createdAt + trialDays * dayMs;
  const states = { status, endedAt, trialEndAt };
  const object = stripeSubscription(createdAt, [{ unitAmount: 9900n, quantity }], states);
  return { ...object, ...more };
}

const pauses = new Map([
  ["trial", "trial_end_without_payment_method"],
  ["request", "pause_requested"],
  ["failure", "final_payment_failure"],
]);

function pauseOf(by: string | undefined, at: number | null): JsonObject {
  const type = pauses.get(by ?? "");
  if (type === undefined) return {};
  const transitioned = at === null ? null : at / 1000;
  return { status_details: { paused: { subscription: { type }, transitioned_at: transitioned } } };
}

function eventsOf(object: JsonObject, day: number): readonly HistoryEvent[] {
  const list = stripeBackfill.lists.find(({ name }) => name === "subscriptions");
  const page = { object: "list", data: [object], has_more: false };
  return list?.read(page, createdAt + day * dayMs, anyTime)?.events ?? [];
}

function reportedOf(object: JsonObject): string {
  return reportedBy(eventsOf(object, readOn));
}

function reportedBy(events: readonly HistoryEvent[]): string {
  return worthByDay(
    events.map(({ body }) => decode(body)),
    createdAt,
  );
}

describe("A trial in the history of Stripe", () => {
  const cases = rowsOf(`
    what                           | status   | ended   | paused by | paused  | reported
    is over and goes on a moment   | trialing | -       | -         | -       | 13: 0
    was converted                  | active   | -       | -         | -       | 14: 9900; 60: 9900
    was converted, but is past due | past_due | -       | -         | -       | 14: 9900; 60: 9900
    was cancelled before its end   | canceled | -864000 | -         | -       | 4: 0
    was cancelled with it          | canceled | 0       | -         | -       | 14: 0
    was cancelled seconds later    | canceled | 5       | -         | -       | 14: 0
    was cancelled an hour later    | canceled | 3600    | -         | -       | 14: 0
    was cancelled after an hour    | canceled | 3601    | -         | -       | 14: 9900; 14: 0
    is paused, nobody says why     | paused   | -       | -         | -       | 60: 0
    is paused for its end          | paused   | -       | trial     | 2       | 60: 0
    was converted, then paused     | paused   | -       | request   | 864000  | 14: 9900; 60: 0
    was converted, paused sometime | paused   | -       | failure   | -       | 14: 9900; 60: 0
    was paused before its end      | paused   | -       | request   | -864000 | 60: 0
  `);
  for (const row of cases) {
    it(`should be read where it ${row["what"]}: ${row["reported"]}`, () => {
      const [status] = statuses.filter((known) => known === row["status"]);
      if (status === undefined) throw new Error(`no status ${row["status"]}`);
      const pause = pauseOf(row["paused by"], sinceTrial(row["paused"]));
      const reported = reportedOf(subscription(status, sinceTrial(row["ended"]), pause));
      expect(reported).to.equal(`0: 0; ${row["reported"]}`);
    });
  }
});

describe("A free month in the history of Stripe, given to a customer who paid", () => {
  const startsAt = (days: number) => ({ trial_start: (createdAt + days * dayMs) / 1000 });
  const cases = rowsOf(`
    what                  | status   | since | ended  | reported
    goes on               | trialing | 10    | -      | 0: 9900; 10: 0; 13: 0
    is paid again         | active   | 10    | -      | 0: 9900; 10: 0; 14: 9900; 60: 9900
    is cancelled with it  | canceled | 10    | 0      | 0: 9900; 10: 0; 14: 0
    is cancelled later    | canceled | 10    | 864000 | 0: 9900; 10: 0; 14: 9900; 24: 0
    began within the hour | active   | 0.04  | -      | 0: 0; 14: 9900; 60: 9900
    began after it        | active   | 0.05  | -      | 0: 9900; 0: 0; 14: 9900; 60: 9900
  `);
  for (const row of cases) {
    it(`should be read where it ${row["what"]}: ${row["reported"]}`, () => {
      const [status] = statuses.filter((known) => known === row["status"]);
      if (status === undefined) throw new Error(`no status ${row["status"]}`);
      const since = startsAt(Number(row["since"]));
      expect(reportedOf(subscription(status, sinceTrial(row["ended"]), since))).to.equal(
        row["reported"],
      );
    });
  }

  it("should be reported by events that are not taken for one", () => {
    const object = subscription("active", null, startsAt(10));
    const ids = eventsOf(object, readOn).map(({ nativeId }) => nativeId);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it("should begin and end though the trial before it was read in an earlier backfill", () => {
    const months = [30, 60].map((days) => {
      const since = (createdAt + days * dayMs) / 1000;
      return { trial_start: since, trial_end: since + (trialDays * dayMs) / 1000 };
    });
    const readings = [
      eventsOf(subscription("active", null, {}), 20),
      ...months.map((month, index) => {
        return eventsOf(subscription("active", null, month), index === 0 ? 50 : 80);
      }),
    ];
    expect(reportedBy(firstOfEach(readings.flat()))).to.equal(
      "0: 0; 14: 9900; 20: 9900; 30: 0; 44: 9900; 50: 9900; 60: 0; 74: 9900; 80: 9900",
    );
  });
});

describe("A price in the history of Stripe", () => {
  it("should be what it was read last, though it was that before", () => {
    const untried = { trial_end: null };
    const cheap = subscription("active", null, untried);
    const dear = subscription("active", null, untried, 2);
    const readings = [eventsOf(cheap, 20), eventsOf(dear, 40), eventsOf(cheap, 60)];
    const reported = reportedBy(firstOfEach(readings.flat()));
    expect(reported).to.equal("0: 9900; 20: 9900; 40: 19800; 60: 9900");
  });
});

/** What has an id that was taken before is not booked again. */
function firstOfEach(events: readonly HistoryEvent[]): HistoryEvent[] {
  const ids = events.map(({ nativeId }) => nativeId);
  return events.filter(({ nativeId }, index) => ids.indexOf(nativeId) === index);
}

const statuses = ["trialing", "active", "past_due", "canceled", "paused"] as const;
