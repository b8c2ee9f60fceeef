/** Figures as known earlier, and what the public topic gets, where events are booked together. */
import { expect } from "chai";
import { rowsOf } from "../../api/reading/reading.js";
import { sumMovementsSql } from "../../api/reading/movements.js";
import { readMrr } from "../../api/mrr/query.js";
import { asOfParams } from "../../api/reading/query.js";
import { areAllRight } from "../../processors/audit/movements.js";
import { movementCodec, topics, type Fact, type FactBody } from "../../schemas/records/records.js";
import { suiteBooking } from "../harness/booking.js";
import { factOf } from "../harness/facts.js";
import { quoteOf, subscription } from "../harness/fact-bodies.js";

/** Of what happened, and of what was received later. */
const happened = Date.parse("2026-03-10T12:00:00Z");
const received = Date.parse("2026-03-20T12:00:00Z");

describe("MRR as it was known", () => {
  const here = suiteBooking("as-of");

  /** @param order of receipt, in seconds */
  function reported(order: number, body: FactBody): Fact {
    return factOf(body, {
      fact_id: `f${order}`,
      event_id: `e${order}`,
      workspace: here.workspace,
      provider: "custom",
      native_type: "subscription.churn",
      received_at: received + order * 1000,
      quote: quoteOf(),
    });
  }

  function priced(order: number, second: number, euros: bigint, name = "s"): Fact {
    const perMonth = euros === 0n ? [] : [euros * 100n];
    const named = { subscription: name, account: name };
    return reported(order, subscription(happened + second * 1000, perMonth, named));
  }

  function side(order: number, second: number, which: "start" | "churn", name: string): Fact {
    const at = happened + second * 1000;
    const pool = { pool: "pool", side: which, subscription: name, account: name };
    return reported(order, { Unidentified: { at, ...pool } });
  }

  async function book(...batches: readonly Fact[][]): Promise<void> {
    for (const batch of batches) await here.booking.book(batch);
  }

  /** As of a second, as known after each of so many events. */
  async function readings(second: number, events: number): Promise<number[]> {
    const read: number[] = [];
    for (let order = 1; order <= events; order += 1) {
      const asOf = {
        workspace: here.workspace,
        environment: "live",
        at: happened + second * 1000,
      } as const;
      const knownAt = received + order * 1000;
      const rows = await readMrr(here.clickhouse, { ...asOf, knownAt });
      read.push(rows.reduce((sum, { mrr }) => sum + Number(mrr), 0));
    }
    return read;
  }

  it("should show a change that was taken back by another of the same moment", async () => {
    await book([priced(1, 0, 10n)], [priced(2, 5, 30n), priced(3, 5, 10n)]);
    expect(await readings(9, 3)).to.deep.equal([10, 30, 10]);
  });

  it("should show an end that was moved to after the moment asked about", async () => {
    // The churn of second 6 ends `a`, until a start before it is reported: then that of second 9
    // does.
    await book(
      [priced(1, 5, 10n, "a"), { ...side(1, 5, "start", "a"), fact_id: "f1a" }],
      [
        side(2, 6, "churn", ""),
        side(3, 9, "churn", ""),
        priced(4, 1, 10n, "b"),
        { ...side(4, 1, "start", "b"), fact_id: "f4b" },
      ],
    );
    expect(await readings(7, 4)).to.deep.equal([10, 0, 0, 10]);
  });

  it("should hold the rate over a pause, whatever is reported late", async () => {
    const rated = (fact: Fact, rate: string): Fact => {
      return { ...fact, quote: fact.quote && { ...fact.quote, rate } };
    };
    const ended = (fact: Fact): Fact => {
      if (!("Subscription" in fact.body)) return fact;
      return { ...fact, body: { Subscription: { ...fact.body.Subscription, phase: "ended" } } };
    };
    await book(
      [rated(priced(1, 0, 10n), "1.1")],
      [rated(priced(2, 60, 10n), "1.2")],
      [priced(3, 50, 0n)],
      [priced(4, 20, 0n)],
      [rated(priced(5, 30, 10n), "1.3")],
      [rated(priced(6, 10, 20n), "1.4")],
      [ended(priced(7, 55, 0n))],
    );
    // A pause of second 20 is reported fourth, its end of second 30 fifth, with a price set there.
    expect(await readings(35, 7)).to.deep.equal([11, 11, 11, 0, 11, 13, 13]);
    // One of second 50 is reported third, after its end of second 60, and last that it was an end.
    expect(await readings(65, 7)).to.deep.equal([11, 11, 11, 11, 11, 13, 12]);
  });

  describe("by country", () => {
    /** @param second when it happened */
    const located = (order: number, second: number, country: string): Fact => ({
      ...reported(order, { Customer: { account: "s", country } }),
      happened_at: happened + second * 1000,
    });

    /** MRR of each country as known after each of so many events, as of a second. */
    async function countries(second: number, events: number): Promise<string[]> {
      const read: string[] = [];
      for (let order = 1; order <= events; order += 1) {
        const asOf = {
          workspace: here.workspace,
          environment: "live",
          at: happened + second * 1000,
        } as const;
        const moment = { ...asOf, knownAt: received + order * 1000 };
        const rows = await rowsOf<{ country: string; mrr: string }>(
          { clickhouse: here.clickhouse },
          {
            sql: sumMovementsSql(["country"], "by_month", moment, { measures: ["mrr"] }),
            params: asOfParams(moment),
          },
        );
        const worth = rows.filter(({ mrr }) => Number(mrr) !== 0);
        read.push(worth.map(({ country, mrr }) => `${country} ${Number(mrr)}`).join());
      }
      return read;
    }

    const cases: readonly [what: string, facts: () => Fact[], read: string[]][] = [
      [
        "should be unknown until an event names one, and then was that all along",
        () => [priced(1, 0, 10n), priced(2, 5, 30n), located(3, 60, "DE")],
        ["ZZ 10", "ZZ 30", "DE 30"],
      ],
      [
        "should move to the one that happened earlier, and stay where they began",
        () => [priced(1, 0, 10n), located(2, 60, "DE"), located(3, 80, "US"), located(4, 40, "JP")],
        ["ZZ 10", "DE 10", "DE 10", "JP 10"],
      ],
      [
        "should go by the id of the event where two happened at once",
        () => [located(2, 60, "DE"), priced(3, 0, 10n), located(1, 60, "US")],
        ["", "", "US 10"],
      ],
      [
        "should count for what is subscribed to later, until it ends",
        () => [located(1, -60, "JP"), priced(2, 0, 10n), priced(3, 5, 0n)],
        ["", "JP 10", ""],
      ],
    ];
    for (const [what, facts, read] of cases) {
      for (const [how, batches] of [
        ["one by one", (all: Fact[]) => all.map((one) => [one])],
        ["at once", (all: Fact[]) => [all]],
        ["backwards", (all: Fact[]) => all.map((one) => [one]).reverse()],
      ] as const) {
        it(`${what}: booked ${how}`, async () => {
          const all = facts();
          await book(...batches(all));
          expect(await countries(9, all.length)).to.deep.equal(read);
          expect(
            await areAllRight(here.clickhouse, [
              { workspace: here.workspace, environment: "live" },
            ]),
          ).to.equal(true);
        });
      }
    }

    it("should leave out what cannot count any more", async () => {
      await book(
        [priced(1, 0, 10n), located(2, 60, "DE")],
        [located(3, 70, "US"), located(4, 80, "DE")],
        [located(5, 50, "JP"), located(6, 55, "US")],
      );
      const stored = await here.rows<{ country: string }>(
        `SELECT country FROM subscription_changes
         WHERE workspace = {workspace:String} AND subscription = '' ORDER BY recorded_at`,
      );
      expect(stored.map(({ country }) => country)).to.deep.equal(["DE", "JP"]);
    });
  });

  it("should report under one id one movement, also when its event comes again", async () => {
    const raised = priced(2, 5, 30n);
    await book([priced(1, 0, 10n)], [raised], [priced(3, 5, 10n)]);
    // What a later event says again is booked beside another delivery of the first that said it.
    const again = { ...raised, received_at: received + 5000, offset: 1n };
    await book([priced(4, 5, 30n), again]);
    const records = await here.log.read(topics.movements, 0, 0n, 1000);
    const movements = records
      .map(({ value }) => movementCodec.decode(value))
      .filter((movement) => movement.workspace === here.workspace);
    expect(movements.map(({ mrr }) => Number(mrr))).to.deep.equal([10, 20, -20, 20]);
    expect(new Set(movements.map(({ id }) => id))).to.have.property("size", 4);
  });
});
