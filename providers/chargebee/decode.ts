/** From an event's type to what it reports. The table is the whole of Chargebee's meaning here. */
import { z } from "zod";
import { compiled, isObject, textOf } from "../fields.js";
import { ignored, isUnreported, malformed, rejected } from "../outcomes.js";
import type { Decoded, DecodedFact, Known, NamedCustomer, NeededTypes } from "../provider.js";
import { nothingKnown } from "../provider.js";
import { envelopeShape, factsAt, field, type Reader, reader, type Reported } from "./event.js";
import { readInvoice } from "./invoices.js";
import { readFailure, readRecovery } from "./payments.js";
import { readSubscription } from "./subscriptions.js";
import { readTransaction } from "./transactions.js";

/** Which objects of an event's content are read; who a customer is, of each. */
type Objects = readonly (readonly [name: string, read: Reader])[];

const customerShape = z.object({
  id: field.id,
  resource_version: field.version,
  billing_address: z.object({ country: field.country }).nullish().catch(null),
});

const readCustomer = reader(customerShape, (customer, event): Reported => {
  const country = customer.billing_address?.country;
  if (!country) return ignored("who a customer is moves no money and no MRR");
  const located = { Customer: { account: customer.id, country } };
  return factsAt(customer.resource_version, event, [located]);
});

const priceShape = z.object({
  id: field.id,
  name: z.string().trim().min(1),
  external_name: z.string().nullish(),
  resource_version: field.version,
});

const readPrice = reader(priceShape, (price, event): Reported => {
  const name = textOf(price.external_name)?.trim() ?? price.name;
  return factsAt(price.resource_version, event, [{ Sku: { external_id: price.id, name } }]);
});

/** Coupons are kept for the subscriptions that name them. */
const readCoupon: Reader = () => ignored("a coupon by itself changes nothing");

const money: Objects = [
  ["transaction", readTransaction],
  ["invoice", readInvoice],
];
const paid: Objects = [...money, ["subscription", readRecovery]];
const failure: Objects = [
  ["transaction", readTransaction],
  ["subscription", readFailure],
];
const invoice: Objects = [["invoice", readInvoice]];
const subscription: Objects = [
  ["subscription", readSubscription],
  ["customer", readCustomer],
];
const customer: Objects = [["customer", readCustomer]];
const price: Objects = [["item_price", readPrice]];
const coupon: Objects = [["coupon", readCoupon]];

const table: ReadonlyMap<string, Objects> = new Map([
  ["payment_succeeded", paid],
  ["payment_failed", failure],
  ["payment_refunded", money],
  ["transaction_created", money],
  ["transaction_updated", money],
  ["invoice_generated", invoice],
  ["invoice_generated_with_backdating", invoice],
  ["invoice_updated", invoice],
  ["subscription_created", subscription],
  ["subscription_created_with_backdating", subscription],
  ["subscription_started", subscription],
  ["subscription_activated", subscription],
  ["subscription_activated_with_backdating", subscription],
  ["subscription_changed", subscription],
  ["subscription_changed_with_backdating", subscription],
  ["subscription_trial_extended", subscription],
  ["subscription_renewed", subscription],
  ["subscription_items_renewed", subscription],
  ["subscription_ramp_applied", subscription],
  ["subscription_paused", subscription],
  ["subscription_resumed", subscription],
  ["subscription_cancelled", subscription],
  ["subscription_canceled_with_backdating", subscription],
  ["subscription_reactivated", subscription],
  ["subscription_reactivated_with_backdating", subscription],
  ["subscription_deleted", subscription],
  ["customer_created", customer],
  ["customer_changed", customer],
  ["item_price_created", price],
  ["item_price_updated", price],
  ["coupon_created", coupon],
  ["coupon_updated", coupon],
]);

/** What a merchant should subscribe the webhook to. */
export const knownTypes: readonly string[] = [...table.keys()];

export const neededTypes: readonly NeededTypes[] = [
  // Invoices may be open for a month.
  { for: "payments", types: ["payment_succeeded", "transaction_created"], proof: { mrrDays: 35 } },
  {
    for: "subscriptions",
    types: ["subscription_created", "subscription_changed", "subscription_renewed"],
    proof: { subscriptionsSold: true },
  },
  { for: "ends", types: ["subscription_cancelled"] },
  { for: "refunds", types: ["payment_refunded"] },
];

/** Each object counts by itself; a reject of one is one of the event. */
export function decode(body: unknown, known: Known = nothingKnown): Decoded {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return malformed(envelope.error);
  const { event_type: type, occurred_at: at, content } = envelope.data;
  const objects = table.get(type);
  if (objects === undefined) return ignored(`events of type ${type} report no money and no MRR`);
  const facts: DecodedFact[] = namesIn(known, at);
  let last: Decoded | null = null;
  for (const [index, [name, read]] of objects.entries()) {
    // The first is what the event is about.
    if (!isObject(content[name])) {
      if (index > 0) continue;
      return rejected("malformed", `content.${name} is missing`);
    }
    const reported = read({ type, at, object: content[name], content, known });
    if (!isUnreported(reported)) facts.push(...reported);
    else if (reported.outcome === "rejected") return reported;
    else last ??= reported;
  }
  if (facts.length === 0 && last !== null) return last;
  // Behind all others, whose places are in their ids.
  facts.sort((one, other) => Number("Standing" in one.body) - Number("Standing" in other.body));
  const isMirror = objects !== failure && isThroughStripe(content);
  return { outcome: "facts", facts, ...(isMirror && { mirrorOf: "stripe" }) };
}

/** Whoever connects that Stripe account, too, is told of the same money by it, if of no failure. */
function isThroughStripe({ transaction }: Readonly<Record<string, unknown>>): boolean {
  return isObject(transaction) && transaction["gateway"] === "stripe";
}

const priceAnswer = compiled(z.object({ item_price: priceShape }));

/** As the API answered, for the item prices that the event only names. */
function namesIn({ answers }: Known, at: number): DecodedFact[] {
  return [...answers.values()].flatMap((answer) => {
    const parsed = priceAnswer.safeParse(answer);
    if (!parsed.success) return [];
    const { id, name, external_name: shown } = parsed.data.item_price;
    const sku = { Sku: { external_id: id, name: textOf(shown)?.trim() ?? name } };
    return [{ happenedAt: at, body: sku }];
  });
}

/** Most events carry the whole customer, of which the newest version counts. */
export function customers(body: unknown): NamedCustomer[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !table.has(envelope.data.event_type)) return [];
  const { occurred_at: at, content } = envelope.data;
  const { customer: named } = content;
  if (!isObject(named)) return [];
  const id = textOf(named["id"]);
  if (id === null) return [];
  const { first_name: first, last_name: last, company, email, resource_version: version } = named;
  const name = [textOf(first), textOf(last)].flatMap((part) => part ?? []).join(" ");
  const versioned = field.version.safeParse(version).data ?? at;
  return [
    { account: id, id, name: textOf(name) ?? textOf(company), email: textOf(email), at: versioned },
  ];
}
