/** Random histories of Gumroad's buyers, as a seller without an access token sees them. */
import * as fc from "fast-check";
import {
  membershipPing,
  type Recurrence,
  type SaleInput,
  salePing,
  type SaleResource,
} from "../../../ops/payloads/gumroad.js";
import type { JsonObject } from "../../../ops/payloads/stripe.js";
import {
  after,
  amounts,
  type Drawn,
  gaps,
  momentBefore,
  type Script,
  seldom,
  skus,
  starts,
} from "./story.js";

const recurrences = ["monthly", "quarterly", "biannually", "yearly", "every_two_years"] as const;

export const gumroadPlans = fc.record({
  start: starts,
  product: skus,
  cents: amounts,
  listedIn: fc.constantFrom("usd", "eur", "jpy"),
  country: fc.constantFrom("Germany", "United States", "Japan", "Utopia"),
  hasAccount: fc.boolean(),
  isTest: fc.nat(9).map((drawn) => drawn === 0),
  /** What is sold once: in earnest, or as one of the pings that are no sale. */
  once: fc.constantFrom("sale", "free", "preorder", "gift", "refunded", "disputed", "won"),
  membership: seldom(
    fc.record({
      recurrence: fc.constantFrom<Recurrence>(...recurrences),
      renewals: fc.array(gaps, { maxLength: 4 }),
      endsAfter: seldom(gaps),
    }),
  ),
});
export type GumroadPlan = Drawn<typeof gumroadPlans>;

export function emitGumroad(script: Script, plan: GumroadPlan): void {
  const at = momentBefore(script.end, plan.start);
  const buyer = script.id("buyer");
  const sold: Omit<SaleInput, "sale"> = {
    at,
    product: plan.product,
    // Its name is another's to report.
    productName: "",
    cents: plan.cents,
    listedIn: plan.listedIn,
    country: plan.country,
    email: `${buyer}@example.com`,
    ...(plan.hasAccount ? { purchaser: buyer } : {}),
  };
  const report = (resource: SaleResource, sale: SaleInput, more: SaleInput["more"] = {}) => {
    if (sale.at > script.end) return;
    const flags = { ...(plan.isTest ? { test: true } : {}), ...more };
    send(script, salePing(resource, { ...sale, more: flags }));
  };
  if (plan.membership === null) return emitOnce({ ...sold, sale: script.id("sale") }, plan, report);

  const { recurrence, renewals, endsAfter } = plan.membership;
  const membership = { ...sold, subscription: script.id("membership"), recurrence };
  report("sale", { ...membership, sale: script.id("sale") });
  let time = at;
  for (const gap of renewals) {
    time = after(time, gap) + 1000;
    report("sale", { ...membership, sale: script.id("sale"), at: time, recurring: true });
  }
  if (endsAfter === null || plan.isTest) return;
  const endedAt = after(time, endsAfter) + 1000;
  if (endedAt > script.end) return;
  const { subscription, product, email } = membership;
  const named = { subscription, product, productName: "", recurrence, createdAt: at };
  const who = plan.hasAccount ? { user: buyer } : { email: ` ${email?.toUpperCase()} ` };
  for (const news of [
    { resource: "cancellation", cancelledAt: endedAt } as const,
    { resource: "subscription_ended", endedAt } as const,
  ]) {
    send(script, membershipPing({ ...named, ...who }, news));
  }
}

type Report = (resource: SaleResource, sale: SaleInput, more?: SaleInput["more"]) => void;

/** Refunds and disputes are dated when they are received: after the end of every portfolio. */
function emitOnce(sale: SaleInput, { once }: GumroadPlan, report: Report): void {
  switch (once) {
    case "free":
      return report("sale", { ...sale, cents: 0n });
    case "preorder":
      return report("sale", sale, { is_preorder_authorization: true });
    case "gift":
      return report("sale", { ...sale, cents: 0n }, giftOf(sale));
    case "refunded":
      report("sale", sale);
      return report("refund", sale, { refunded: true });
    case "disputed":
      report("sale", sale);
      return report("dispute", sale);
    case "won":
      report("sale", sale);
      report("dispute", sale);
      return report("dispute_won", sale);
    case "sale":
      return report("sale", sale);
  }
}

/** The receiver's copy, which alone is reported. */
function giftOf({ cents, email }: SaleInput): NonNullable<SaleInput["more"]> {
  const gift_price = cents.toString();
  return { is_gift_receiver_purchase: true, gift_price, gifter_email: `giver-of-${email}` };
}

/** As an object of strings; webhooks.ts makes the form of it again. */
function send(script: Script, ping: Buffer): void {
  const body: JsonObject = {};
  for (const [name, value] of new URLSearchParams(ping.toString())) {
    if (!name.endsWith("[]")) body[name] = value;
  }
  script.sent.push({ id: script.id("ping"), source: "gumroad", body });
}
