/** Random histories of Stripe customers: their subscriptions, and what they bought once. */
import * as fc from "fast-check";
import { apiVersions } from "../../../ops/payloads/stripe.js";
import { customerObject } from "../../../ops/payloads/stripe-money.js";
import { paymentFates, Payer, emitPayment } from "./payment-story.js";
import {
  amounts,
  countries,
  currencies,
  type Drawn,
  momentBefore,
  type Script,
  skus,
  starts,
} from "./story.js";
import { subscriptionPlans, emitSubscription } from "./subscription-story.js";

const oneOffs = fc.record({
  start: starts,
  amount: amounts,
  /** Null: without an invoice. */
  sku: fc.option(skus),
  fate: paymentFates,
});

export const stripePlans = fc.record({
  version: fc.constantFrom(...apiVersions),
  currency: currencies,
  country: countries,
  livemode: fc.nat(9).map((drawn) => drawn > 0),
  isConnected: fc.nat(5).map((drawn) => drawn === 0),
  subscriptions: fc.array(fc.record({ start: starts, plan: subscriptionPlans }), { maxLength: 3 }),
  oneOffs: fc.array(oneOffs, { maxLength: 2 }),
  addresses: fc.array(fc.record({ start: starts, country: countries }), { maxLength: 2 }),
});
export type StripePlan = Drawn<typeof stripePlans>;

export function emitStripe(script: Script, plan: StripePlan, index: number): void {
  const { version, currency, country, livemode, isConnected } = plan;
  // A connected account's customer may have the same id as one of ours.
  const payer = new Payer(script, {
    customer: isConnected ? "cus_0" : `cus_${index}`,
    ...(isConnected && { account: `acct_${index}` }),
    version,
    currency,
    country,
    livemode,
  });
  // Of the Kuwaiti dinar only the newest quote is bundled.
  const startOf = ({ days, seconds }: Drawn<typeof starts>) =>
    momentBefore(script.end, { days: currency === "KWD" ? days % 45 : days, seconds });
  for (const { start, plan: subscription } of plan.subscriptions) {
    emitSubscription(payer, startOf(start), subscription);
  }
  for (const { start, amount, sku, fate } of plan.oneOffs) {
    const lines = sku === null ? [] : [{ sku, amount, discount: 0n }];
    emitPayment(payer, startOf(start), lines, null, amount, fate);
  }
  for (const [order, { start, country: there }] of plan.addresses.entries()) {
    const type = `customer.${order === 0 ? "created" : "updated"}`;
    const object = customerObject({ id: payer.who.customer, country: there });
    payer.say(type, startOf(start), object);
  }
}
