/**
 * What Gumroad's memberships are worth over their whole lives, ping by ping, as the processors
 * read them: what is kept of one is there for the next, and what waits is read again.
 */
import { expect } from "chai";
import * as fc from "fast-check";
import { parseBody } from "../../../schemas/parse.js";
import { createGumroad } from "../../../providers/gumroad/index.js";
import {
  membershipPing,
  type Plan,
  type Recurrence,
  salePing,
} from "../../../ops/payloads/gumroad.js";
import { pathOfSale, saleAnswer } from "../../payloads/gumroad-answers.js";
import type { Decoded, Known } from "../../../providers/provider.js";
import type { SubscriptionFact } from "../../../providers/worth.js";
import { statesOf } from "../../harness/decoded.js";
import { inOrder } from "../../model/stories/story.js";

const gumroad = createGumroad();
const second = 1000;

describe("A membership of Gumroad", () => {
  const free: Plan = { tier: "Free", recurrence: "monthly", price: 0n };
  const ten: Plan = { tier: "Ten", recurrence: "monthly", price: 1000n };
  const twenty: Plan = { tier: "Twenty", recurrence: "monthly", price: 2000n };
  const thirty: Plan = { tier: "Thirty", recurrence: "monthly", price: 3000n };
  const yearly: Plan = { tier: "Pro", recurrence: "yearly", price: 12_000n };
  const six: Plan = { tier: "Small", recurrence: "monthly", price: 600n };

  /** `worth`: US cents a month at moments in time. */
  const cases: [title: string, report: (story: Story) => void, worth: string][] = [
    [
      "should be worth its plan when a cancellation is taken back, and change plan as announced",
      (story) => {
        story.charged("2026-01-10", 12_000n, yearly);
        story.changed("2026-03-01", yearly, six, "2027-01-10");
        story.restarted("2026-03-10", yearly);
      },
      "2026-02-01: 1000, 2026-03-11: 1000, 2027-01-09: 1000, 2027-01-11: 600",
    ],
    [
      "should come back at the price it had where it ended before the announced plan began",
      (story) => {
        story.charged("2026-01-10", 12_000n, yearly);
        story.changed("2026-03-01", yearly, six, "2027-01-10");
        story.ended("2027-01-10", "cancelled", 90 * second);
        story.restarted("2027-03-10", yearly);
      },
      "2027-01-11: 0, 2027-03-11: 1000, 2028-01-11: 1000",
    ],
    [
      "should come back at the announced price where that was valid before it ended",
      (story) => {
        story.charged("2026-01-10", 2000n, twenty);
        story.changed("2026-01-20", twenty, ten, "2026-02-10");
        story.ended("2026-04-10", "cancelled");
        story.restarted("2026-06-01", ten);
      },
      "2026-02-11: 1000, 2026-04-11: 0, 2026-06-02: 1000",
    ],
    [
      "should come back at the announced price where its first charge failed for days",
      (story) => {
        story.charged("2026-01-10", 2000n, twenty);
        story.changed("2026-01-20", twenty, ten, "2026-02-10");
        story.ended("2026-02-15", "failed_payment");
        story.restarted("2026-03-01", ten);
      },
      "2026-02-16: 0, 2026-03-02: 1000",
    ],
    [
      "should forget an announced plan for a newer one, also when it is restarted",
      (story) => {
        story.charged("2026-01-10", 2000n, twenty);
        story.changed("2026-01-20", twenty, ten, "2026-02-10");
        story.changed("2026-01-25", twenty, thirty);
        story.upgradeCharged("2026-01-25", 1900n, thirty);
        story.restarted("2026-02-01", thirty);
      },
      "2026-01-21: 2000, 2026-01-26: 3000, 2026-02-02: 3000, 2026-02-11: 3000",
    ],
    [
      "should be worth each of its plans where it began for nothing and ends for nothing",
      (story) => {
        story.charged("2026-01-10", 0n, free);
        story.changed("2026-02-10", free, ten);
        story.upgradeCharged("2026-02-10", 1000n, ten);
        story.changed("2026-02-20", ten, twenty);
        story.upgradeCharged("2026-02-20", 1357n, twenty);
        story.changed("2026-03-05", twenty, free);
      },
      "2026-01-11: 0, 2026-02-11: 1000, 2026-02-21: 2000, 2026-03-06: 0",
    ],
    [
      "should not take the rest an upgrade charges for a price, where no charge came before",
      (story) => {
        story.changed("2026-02-20", ten, twenty);
        story.upgradeCharged("2026-02-20", 1300n, twenty);
        story.renewed("2026-03-20", 2000n, twenty);
        story.changed("2026-04-02", twenty, thirty);
        story.upgradeCharged("2026-04-02", 1900n, thirty);
      },
      "2026-02-21: 2000, 2026-03-21: 2000, 2026-04-03: 3000",
    ],
    [
      "should be worth the plan its first reported charge paid for, which was announced before it",
      (story) => {
        story.changed("2026-03-01", twenty, ten, "2026-03-10");
        // Gumroad marks the first charge of an announced plan as it does an upgrade's.
        story.upgradeCharged("2026-03-10", 1000n, ten);
        story.changed("2026-03-20", ten, thirty);
      },
      "2026-03-02: 2000, 2026-03-11: 1000, 2026-03-21: 3000",
    ],
    [
      "should be reported in dollars, however its plans are listed",
      (story) => {
        story.listing = { currency: "eur", price: "10.00" };
        story.charged("2026-01-10", 1100n, ten);
        story.changed("2026-01-20", ten, twenty, "2026-02-10");
        story.restarted("2026-01-25", ten);
      },
      "2026-01-26: 1100, 2026-02-11: 2200",
    ],
    [
      "should be worth each plan when two changes are reported the other way round",
      (story) => {
        story.charged("2026-01-10", 1000n, ten);
        story.changed("2026-03-10", twenty, thirty);
        story.changed("2026-02-10", ten, twenty);
      },
      "2026-01-11: 1000, 2026-02-11: 2000, 2026-03-11: 3000",
    ],
    [
      "should be worth the second plan where the first change is lost",
      (story) => {
        story.charged("2026-01-10", 1000n, ten);
        story.changed("2026-03-10", twenty, thirty);
        story.changed("2026-04-10", thirty, six);
        story.ended("2026-05-10", "cancelled");
        story.restarted("2026-06-10", six);
      },
      "2026-02-11: 1000, 2026-03-11: 3000, 2026-04-11: 600, 2026-06-11: 600",
    ],
    [
      "should forget an announced plan for a newer one that is reported before it",
      (story) => {
        story.charged("2026-01-10", 2000n, twenty);
        story.changed("2026-01-20T10:01:00Z", twenty, thirty);
        story.changed("2026-01-20T10:00:00Z", twenty, ten, "2026-02-10", 2);
        story.restarted("2026-02-01", thirty);
      },
      "2026-01-21: 3000, 2026-02-02: 3000, 2026-02-11: 3000",
    ],
  ];
  for (const [title, report, worth] of cases) {
    for (const hasToken of [true, false]) {
      it(`${title}${hasToken ? "" : " (without an access token)"}`, () => {
        const story = new Story(hasToken);
        report(story);
        const reported = worth.split(", ").map((part) => {
          const [date = ""] = part.split(": ");
          return `${date}: ${story.worthAt(Date.parse(date))}`;
        });
        expect(reported.join(", ")).to.equal(worth);
      });
    }
  }

  it("should be worth each plan in another currency, when the first of two changes is lost", () => {
    const story = new Story(true);
    // A cent is more than a yen: the record reports what the plan costs.
    story.listing = { currency: "jpy", price: "1,001" };
    story.charged("2026-01-10", 652n, ten);
    story.changed("2026-02-10", ten, twenty);
    expect(story.worthAt(Date.parse("2026-02-11"))).to.equal(1304);
    story.changed("2026-04-10", six, thirty);
    expect(story.worthAt(Date.parse("2026-04-11"))).to.equal(1956);

    const gap = new Story(true);
    gap.listing = { currency: "eur", price: "10.00" };
    gap.charged("2026-01-10", 1100n, ten);
    gap.changed("2026-03-10", twenty, thirty);
    expect(gap.worthAt(Date.parse("2026-03-11"))).to.equal(3300);
  });

  for (const hasToken of [true, false]) {
    const title = "should be of its buyer's country whatever its plan";
    it(`${title}${hasToken ? "" : " (without an access token)"}`, () => {
      const story = new Story(hasToken);
      story.charged("2026-01-10", 1000n, ten);
      story.changed("2026-02-10", ten, twenty);
      story.restarted("2026-03-10", twenty);
      story.ended("2026-04-10", "cancelled");
      story.restarted("2026-05-10", twenty);
      const dates = ["2026-01-11", "2026-02-11", "2026-03-11", "2026-05-11"];
      expect(dates.map((date) => story.countryAt(Date.parse(date)))).to.deep.equal(
        dates.map(() => "DE"),
      );
    });
  }

  it("should be worth its plans in whatever order its pings come", () => {
    const steps = fc.array(
      fc.record({
        what: fc.constantFrom("renewed", "renewed", "upgraded", "ended"),
        plan: fc.constantFrom(ten, twenty, thirty),
        days: fc.integer({ min: 1, max: 25 }),
      }),
      { maxLength: 6 },
    );
    const orders = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 12 });
    const property = fc.property(steps, orders, (taken, order) => {
      const { pings, worth } = lifeOf(taken);
      const story = new Story(true);
      for (const report of inOrder(pings, order)) report(story);
      const reported = worth.map(([date]) => [date, story.worthAt(Date.parse(date))]);
      expect(reported).to.deep.equal(worth);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it("should keep nothing of a sale Gumroad does not know", () => {
    const ping = parsed(salePing("sale", { ...sold, sale: "forged", at: 0, cents: 999n }));
    const answers = new Map([[pathOfSale("forged"), { success: false }]]);
    expect(gumroad.keepsAnswered?.(ping, { kept: new Map(), answers })).to.deep.equal([]);
  });
});

interface Taken {
  readonly what: "renewed" | "upgraded" | "ended";
  readonly plan: Plan;
  readonly days: number;
}

/** Its pings in the order in which they are sent, and its worth half a day after each step. */
function lifeOf(steps: readonly Taken[]) {
  let plan: Plan = { tier: "Five", recurrence: "monthly", price: 500n };
  let time = Date.UTC(2026, 0, 10);
  const dateOf = (at: number) => new Date(at).toISOString();
  const first = { plan, date: dateOf(time) };
  const pings = [(story: Story) => story.charged(first.date, first.plan.price, first.plan)];
  const worth: [string, number][] = [];
  const note = (cents: bigint) => worth.push([dateOf(time + 12 * 3_600 * second), Number(cents)]);
  note(plan.price);
  for (const { what, plan: after, days } of steps) {
    time += days * 24 * 3_600 * second;
    const [date, before] = [dateOf(time), plan];
    if (what === "ended") {
      pings.push((story) => story.ended(date, "cancelled"));
      note(0n);
      break;
    }
    if (what === "upgraded" && after.price > before.price) {
      plan = after;
      const rest = after.price - before.price / 2n;
      pings.push((story) => story.changed(date, before, after));
      pings.push((story) => story.upgradeCharged(date, rest, after));
    } else pings.push((story) => story.renewed(date, before.price, before));
    note(plan.price);
  }
  return { pings, worth };
}

const subscription = "mem-1==";
const product = "prd-club==";
const sold = { subscription, product, purchaser: "77", country: "Germany" };

/** Pings of one membership, as they come. */
class Story {
  readonly #hasToken: boolean;
  readonly #kept = new Map<string, { readonly reportedAt: number; readonly object: object }>();
  readonly #answers = new Map<string, unknown>();
  readonly #states: State[] = [];
  /** Rejects that are read again when something is reported. */
  #waiting: [body: unknown, receivedAt: number][] = [];
  #sales = 0;
  /** What charges are listed in from now on; dollars as a rule. */
  listing: { readonly currency: string; readonly price: string } | null = null;

  constructor(hasToken: boolean) {
    this.#hasToken = hasToken;
  }

  charged(date: string, cents: bigint, { recurrence }: Plan): void {
    this.#emitSale(date, cents, recurrence, false, false);
  }

  renewed(date: string, cents: bigint, { recurrence }: Plan): void {
    this.#emitSale(date, cents, recurrence, true, false);
  }

  upgradeCharged(date: string, cents: bigint, { recurrence }: Plan): void {
    this.#emitSale(date, cents, recurrence, true, true);
  }

  /**
   * @param validFrom later than the change is reported: announced
   * @param retries of the ping, after 60, 180 and 600 s
   */
  changed(date: string, before: Plan, after: Plan, validFrom = date, retries = 0): void {
    const isNow = validFrom === date;
    const waitedMs = [0, 60, 240, 840][retries]! * second;
    const news = {
      resource: "subscription_updated",
      type: after.price < before.price ? "downgrade" : "upgrade",
      effectiveAt: Date.parse(validFrom),
      before,
      after,
    } as const;
    const { recurrence } = isNow ? after : before;
    const ping = membershipPing(this.#membership(recurrence), news);
    const sent = retries === 0 ? ping : Buffer.from(`${ping.toString()}&retry_count=${retries}`);
    this.#receive(sent, Date.parse(date) + second + waitedMs);
  }

  ended(date: string, reason: string, lateMs = 0): void {
    const endedAt = Date.parse(date) + lateMs;
    const news = { resource: "subscription_ended", endedAt, reason } as const;
    this.#receive(membershipPing(this.#membership("monthly"), news), endedAt + second);
  }

  restarted(date: string, { recurrence }: Plan): void {
    const restartedAt = Date.parse(date);
    const news = { resource: "subscription_restarted", restartedAt } as const;
    this.#receive(membershipPing(this.#membership(recurrence), news), restartedAt + second);
  }

  /** US cents a month, by the newest state that began by then. */
  worthAt(moment: number): number {
    const steps = this.#stateAt(moment)?.steps ?? [];
    const [item] = steps.findLast(({ at }) => at <= moment)?.items ?? [];
    if (item === undefined) return 0;
    return Number(item.monthly_numerator) / Number(item.monthly_denominator);
  }

  countryAt(moment: number): string | null {
    return this.#stateAt(moment)?.country ?? null;
  }

  #stateAt(moment: number): State | undefined {
    const begun = this.#states.filter(({ at }) => at <= moment);
    const newest = Math.max(...begun.map(({ at }) => at));
    return begun.findLast(({ at }) => at === newest);
  }

  #membership(recurrence: Recurrence) {
    return { subscription, product, user: sold.purchaser, createdAt: 0, recurrence };
  }

  #emitSale(
    date: string,
    cents: bigint,
    recurrence: Recurrence,
    recurring: boolean,
    upgrade: boolean,
  ): void {
    this.#sales += 1;
    // Gumroad's times of sales have no fractions of seconds.
    const at = Date.parse(date) + second;
    const sale = { ...sold, sale: `sale-${this.#sales}`, at, cents, recurrence, recurring };
    const { currency: listedIn = "usd", price: refundable = "0" } = this.listing ?? {};
    const record = { ...sale, upgrade, refundable, soldIn: listedIn };
    this.#answers.set(pathOfSale(sale.sale), saleAnswer(record));
    // It is reported ten seconds after it.
    this.#receive(salePing("sale", { ...sale, listedIn }), at + 10 * second);
  }

  #receive(ping: Buffer, receivedAt: number): void {
    const waiting = [...this.#waiting, [parsed(ping), receivedAt] as const].reverse();
    this.#waiting = [];
    for (const [body, firstReceivedAt] of waiting) {
      const decoded = this.#read(body, firstReceivedAt);
      if (decoded.outcome === "rejected") this.#waiting.push([body, firstReceivedAt]);
      for (const { steps, country } of statesOf(decoded)) {
        this.#states.push({ at: steps[0]?.at ?? 0, steps, country });
      }
    }
  }

  /** As conclude (processors/normalize/read-raw.ts): recalled, kept, decoded. */
  #read(body: unknown, firstReceivedAt: number): Decoded {
    const needed = gumroad.needs?.(body) ?? [];
    const kept = new Map<string, unknown>();
    for (const id of needed) if (this.#kept.has(id)) kept.set(id, this.#kept.get(id)?.object);
    const answers = this.#hasToken ? this.#answers : new Map<string, unknown>();
    const known: Known = { kept, answers, firstReceivedAt };
    for (const { id, reportedAt, object, merges } of gumroad.keepsAnswered?.(body, known) ?? []) {
      const before = this.#kept.get(id);
      if (merges)
        this.#kept.set(id, { reportedAt, object: { ...Object(object), ...before?.object } });
      else if ((before?.reportedAt ?? -Infinity) < reportedAt) {
        this.#kept.set(id, { reportedAt, object: Object(object) });
      }
    }
    return gumroad.decode(body, known);
  }
}

/** `at`: of its first step. */
type State = { readonly at: number } & Pick<SubscriptionFact, "steps" | "country">;

function parsed(body: Buffer): unknown {
  const read = parseBody(gumroad, body);
  if (!read.ok) throw new Error(read.message);
  return read.value;
}
