/** What Gumroad's list of sales reveals about the past. */
import { expect } from "chai";
import { parseBody } from "../../../schemas/parse.js";
import { membershipPing } from "../../../ops/payloads/gumroad.js";
import {
  type ListedInput,
  listedSale,
  pathOfSale,
  pathOfSubscriber,
  saleAnswer,
  subscriberAnswer,
} from "../../payloads/gumroad-answers.js";
import type { HistoryEvent, Span } from "../../../providers/backfill.js";
import { createGumroad } from "../../../providers/gumroad/index.js";
import { type Known, nothingKnown } from "../../../providers/provider.js";
import { bodiesOf, requiredOf } from "../../harness/decoded.js";
import { cell, rowsOf } from "../../model/tables/table.js";

const gumroad = createGumroad();
const from = Date.UTC(2026, 0, 5);
const dayMs = 24 * 60 * 60 * 1000;
const readAt = from + 100 * dayMs;
const span = { from, to: readAt };
const soldAt = from + 3 * dayMs;
const once: ListedInput = { sale: "once==", at: soldAt, product: "prd==", cents: 1249n };
const member = {
  ...once,
  sale: "first==",
  subscription: "mem==",
  recurrence: "monthly",
} as const;

function readPage(
  sales: readonly ListedInput[],
  { within = span, after = null }: { within?: Span; after?: string | null } = {},
  more = {},
) {
  const [list] = gumroad.backfill?.lists ?? [];
  const answer = { success: true, sales: sales.map(listedSale), ...more };
  return list?.read(answer, readAt, within, after) ?? null;
}

function eventsOf(...sales: ListedInput[]): readonly HistoryEvent[] {
  return readPage(sales)?.events ?? [];
}

function knownOf({ nativeId }: HistoryEvent, more: Partial<Known> = {}): Known {
  return { ...nothingKnown, nativeId, firstReceivedAt: readAt, ...more };
}

/** As `Payment 1249, RefundTotal 400 on day 3`. */
function reported(event: HistoryEvent, more: Partial<Known> = {}): string[] {
  const dayOf = (at: number | null): string => `on day ${((at ?? NaN) - from) / dayMs}`;
  return bodiesOf(gumroad.decode(event.body, knownOf(event, more))).flatMap((body) => {
    if ("Payment" in body) return [`${body.Payment.type} ${body.Payment.amount}`];
    if ("RefundTotal" in body) {
      return [`refunded ${body.RefundTotal.amount} ${dayOf(body.RefundTotal.at)}`];
    }
    if ("Dispute" in body) {
      const { amount, withdrawn_at: out, returned_at: back } = body.Dispute;
      return [out === null ? `won ${amount} ${dayOf(back)}` : `lost ${amount} ${dayOf(out)}`];
    }
    if (!("Subscription" in body)) return [];
    const { phase, steps } = body.Subscription;
    return steps.map(({ at, items }) => {
      const worth = items.reduce((sum, item) => sum + item.monthly_numerator, 0n);
      return `${phase} ${worth} ${dayOf(at)}`;
    });
  });
}

describe("A sale in the history of Gumroad", () => {
  const cases: [title: string, sale: ListedInput, expected: string][] = [
    ["of a product", once, "one_time 1249"],
    ["of nothing", { ...once, cents: 0n }, ""],
    ["to a member", member, "subscription 1249, started 1249 on day 3"],
    ["that begins a trial", { ...member, trialEndsOn: "Jan 15, 2026" }, ""],
    ["in instalments", { ...member, recurringBilling: false }, "one_time 1249"],
    ["refunded whole", { ...once, refunded: true }, "one_time 1249, refunded 1249 on day 3"],
    [
      "refunded in part",
      { ...once, partiallyRefunded: true, soldIn: "usd", refundable: "8.49" },
      "one_time 1249, refunded 400 on day 3",
    ],
    [
      "refunded in part of another currency",
      { ...once, partiallyRefunded: true, soldIn: "eur", refundable: "8" },
      "one_time 1249",
    ],
    ["disputed", { ...once, disputed: true }, "one_time 1249, lost 1249 on day 3"],
    [
      "of a dispute that was won",
      { ...once, disputed: true, disputeWon: true },
      "one_time 1249, lost 1249 on day 3, won 1249 on day 3",
    ],
    ["of a gift, by its giver", { ...once, given: true }, ""],
  ];
  for (const [title, sale, expected] of cases) {
    it(`should report what a ping of one ${title} would: ${expected || "nothing"}`, () => {
      expect(
        eventsOf(sale)
          .flatMap((event) => reported(event))
          .join(", "),
      ).to.equal(expected);
    });
  }

  it("should not be looked up once more, as that of a ping is", () => {
    const [event] = eventsOf(once);
    if (event === undefined) throw new Error("no event");
    expect(gumroad.asks?.(event.body, knownOf(event))).to.deep.equal([]);
    // The same body as a ping, whose record nobody may bring along.
    const ping = knownOf({ ...event, nativeId: "sale:once==" });
    expect(requiredOf(gumroad.asks?.(event.body, ping) ?? [])).to.deep.equal([
      pathOfSale("once=="),
    ]);
    const other = { ...ping, answers: new Map([[pathOfSale("once=="), { success: false }]]) };
    expect(gumroad.decode(event.body, other)).to.include({ reason: "sale_unknown" });
  });

  it("should be dated by its ping where there was one", () => {
    const [, refund] = eventsOf({ ...once, refunded: true });
    if (refund === undefined) throw new Error("no refund");
    const answers = new Map([[pathOfSale("once=="), saleAnswer({ ...once, refunded: true })]]);
    const ping: Known = { ...nothingKnown, nativeId: "refund:once==:whole", answers };
    const noticed = gumroad.keepsAnswered?.(refund.body, ping) ?? [];
    const kept = new Map(noticed.map(({ id, object }) => [id, object]));
    expect([...kept.keys()]).to.deep.equal(gumroad.needs?.(refund.body));
    expect(reported(refund, { kept })).to.deep.equal(["refunded 1249 on day 100"]);
    // A backfill is no notice of its own.
    expect(gumroad.keepsAnswered?.(refund.body, knownOf(refund))).to.deep.equal([]);
  });

  it("should be the same event when nothing changed, and another refund of another part", () => {
    const part = { ...once, partiallyRefunded: true, soldIn: "usd" };
    const ids = ["8.49", "8.49", "4.49"].map((refundable) =>
      eventsOf({ ...part, refundable }).map(({ nativeId }) => nativeId),
    );
    expect(ids[1]).to.deep.equal(ids[0]);
    expect(ids[2]?.[0]).to.equal(ids[0]?.[0]);
    expect(ids[2]?.[1]).not.to.equal(ids[0]?.[1]);
  });
});

describe("The end of a membership in the history of Gumroad", () => {
  const endOf = (sale: ListedInput): HistoryEvent => {
    const event = eventsOf(sale).at(-1);
    if (event === undefined) throw new Error("no event");
    return event;
  };
  const end = endOf({ ...member, dead: true });

  it("should be asked for, of one that has ended only", () => {
    const asked = gumroad.asks?.(end.body, knownOf(end)) ?? [];
    expect(requiredOf(asked)).to.deep.equal([pathOfSubscriber("mem==")]);
    const going = endOf(member);
    expect(gumroad.asks?.(going.body, knownOf(going))).to.deep.equal([]);
  });

  const cases = rowsOf(`
    failed | ended | cancelled | reported
    40     | -     | -         | ended 0 on day 40
    -      | 50    | -         | ended 0 on day 50
    -      | -     | 60        | ended 0 on day 60
    40     | -     | 60        | ended 0 on day 40
    -      | -     | 120       | goes on
    -      | -     | -         | goes on
  `);
  for (const row of cases) {
    const { failed, ended, cancelled } = row;
    it(`should be read: failed ${failed}, ended ${ended}, cancelled ${cancelled}`, () => {
      const at = (name: string): number | undefined =>
        cell(row, name) === "-" ? undefined : from + Number(cell(row, name)) * dayMs;
      const [failedAt, endedAt, cancelledAt] = [at("failed"), at("ended"), at("cancelled")];
      const answer = subscriberAnswer("mem==", {
        ...(failedAt !== undefined && { failedAt }),
        ...(endedAt !== undefined && { endedAt }),
        ...(cancelledAt !== undefined && { cancelledAt }),
      });
      const answers = new Map([[pathOfSubscriber("mem=="), answer]]);
      const [report = "goes on"] = reported(end, { answers });
      expect(report).to.equal(cell(row, "reported"));
    });
  }
});

describe("The end of a membership that a ping has reported, too", () => {
  const answers = new Map([
    [pathOfSubscriber("mem=="), subscriberAnswer("mem==", { cancelledAt: from + 40 * dayMs })],
  ]);
  const cases = rowsOf(`
    hours after it | reported
    1              | nothing
    0              | ended 0 on day 40
    24             | ended 0 on day 40
    -1             | ended 0 on day 40
  `);
  for (const row of cases) {
    it(`should count as the ping says, ${cell(row, "hours after it")} h after it`, () => {
      const endedAt = from + 40 * dayMs + Number(cell(row, "hours after it")) * (dayMs / 24);
      const membership = { subscription: "mem==", product: "prd==", createdAt: from } as const;
      const ping = membershipPing(
        { ...membership, recurrence: "monthly" },
        { resource: "subscription_ended", endedAt },
      );
      const body = parseBody({ bodyType: "form" }, ping);
      if (!body.ok) throw new Error(body.message);
      const noticed = gumroad.keepsAnswered?.(body.value, nothingKnown) ?? [];
      const kept = new Map(noticed.map(({ id, object }) => [id, object]));
      const end = eventsOf({ ...member, dead: true }).at(-1);
      if (end === undefined) throw new Error("no event");
      expect(gumroad.needs?.(end.body)).to.include.members([...kept.keys()]);
      const [report = "nothing"] = reported(end, { answers, kept });
      expect(report).to.equal(cell(row, "reported"));
    });
  }
});

describe("The list of Gumroad's sales", () => {
  const [list] = gumroad.backfill?.lists ?? [];

  it("should be read week by week, each page by page", () => {
    const asked = rowsOf(`
      after            | next page | path                                          | next
      -                | -         | after=2026-01-05&before=2026-01-12            | 2026-01-12
      -                | k1        | after=2026-01-05&before=2026-01-12            | 2026-01-05 k1
      2026-01-05 k1    | -         | after=2026-01-05&before=2026-01-12&page_key=k1 | 2026-01-12
      2026-01-12       | k2        | after=2026-01-12&before=2026-01-19            | 2026-01-12 k2
      2026-04-13       | k3        | after=2026-04-13&before=2026-04-20            | 2026-04-13 k3
      2026-04-13       | -         | after=2026-04-13&before=2026-04-20            | -
    `);
    for (const row of asked) {
      const after = cell(row, "after") === "-" ? null : cell(row, "after");
      const key = cell(row, "next page") === "-" ? {} : { next_page_key: cell(row, "next page") };
      expect(list?.path(span, after)).to.equal(`/v2/sales?${cell(row, "path")}`);
      expect(readPage([], { after }, key)?.next ?? "-").to.equal(cell(row, "next"));
    }
  });

  it("should leave out what is beside the span, of whose days it knows only whole ones", () => {
    const noon = { from: from + dayMs / 2, to: readAt };
    const early = { ...once, sale: "early==", at: from };
    const page = readPage([once, early], { within: noon });
    expect(page).to.include({ objects: 1 });
    expect(page?.payments.map(({ payment }) => payment)).to.deep.equal(["once=="]);
  });

  it("should say what was paid and refunded, for the comparison", () => {
    const sales = [
      { ...once, refunded: true },
      { ...member, trialEndsOn: "Jan 15, 2026" },
      { ...once, sale: "gift==", given: true },
    ];
    const shared = { at: soldAt, currency: "USD", amount: 1249n, fee: 124n };
    expect(readPage(sales)?.payments).to.deep.equal([
      { ...shared, payment: "once==", refunded: 1249n },
    ]);
  });

  it("should say what was paid, though it cannot be read", () => {
    const odd = { ...listedSale(member), subscription_duration: "fortnightly" };
    const page = list?.read({ success: true, sales: [odd] }, readAt, span);
    const [event] = page?.events ?? [];
    if (event === undefined) throw new Error("no event");
    expect(gumroad.decode(event.body, knownOf(event))).to.include({ reason: "malformed" });
    expect(page?.payments.map(({ payment, amount }) => [payment, amount])).to.deep.equal([
      ["first==", 1249n],
    ]);
  });

  it("should be none where the answer is no page", () => {
    expect(list?.read({ success: false }, readAt, span)).to.equal(null);
  });
});
