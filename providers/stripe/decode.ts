/** From an event's type to what it reports. The table is the whole of Stripe's meaning here. */
import { z } from "zod";
import { anyObject, isObject, readOnce } from "../fields.js";
import { ignored, isUnreported, malformed, productsIn, rejected, withNames } from "../outcomes.js";
import type {
  Decoded,
  KeptObject,
  Known,
  NamedCustomer,
  NeededTypes,
  Question,
} from "../provider.js";
import { keptAndAnswered, withAnswers } from "./answers.js";
import { asks as asksOf } from "./asks.js";
import { readCharge } from "./charges.js";
import { field, idIn, inNamesOfToday, type Reader, withOwnSkus } from "./event.js";
import { namedIn, readCustomer } from "./customers.js";
import { keptDiscounts } from "./discounts.js";
import { readDispute } from "./disputes.js";
import { readInvoice } from "./invoices.js";
import { readInvoicePayment, readSession } from "./purchases.js";
import { readCreditNote, readRefund } from "./refunds.js";
import { neededBySubscription, readSubscription } from "./subscriptions.js";

/** Names of products, which are read from every event of this table. */
const readNames: Reader = () => ignored("it names no product");

/**
 * One payment is reported by up to six events, and one of them is believed: the charge. Payment
 * intents are not in the table, invoices and sessions only say what was bought.
 */
const readers: ReadonlyMap<string, Reader> = new Map([
  ["charge.succeeded", readCharge],
  ["charge.captured", readCharge],
  ["charge.updated", readCharge],
  ["charge.refunded", readCharge],
  ["refund.created", readRefund],
  ["refund.updated", readRefund],
  ["refund.failed", readRefund],
  ["charge.refund.updated", readRefund],
  ["charge.dispute.created", readDispute],
  ["charge.dispute.updated", readDispute],
  ["charge.dispute.funds_withdrawn", readDispute],
  ["charge.dispute.funds_reinstated", readDispute],
  ["charge.dispute.closed", readDispute],
  ["credit_note.created", readCreditNote],
  ["credit_note.updated", readCreditNote],
  ["credit_note.voided", readCreditNote],
  ["invoice.paid", readInvoice],
  ["invoice.payment_succeeded", readInvoice],
  ["invoice.updated", readInvoice],
  ["invoice_payment.paid", readInvoicePayment],
  ["checkout.session.completed", readSession],
  ["checkout.session.async_payment_succeeded", readSession],
  ["customer.subscription.created", readSubscription],
  ["customer.subscription.updated", readSubscription],
  ["customer.subscription.paused", readSubscription],
  ["customer.subscription.resumed", readSubscription],
  ["customer.subscription.deleted", readSubscription],
  ["customer.created", readCustomer],
  ["customer.updated", readCustomer],
  ["product.created", readNames],
  ["product.updated", readNames],
  ["price.created", readNames],
  ["price.updated", readNames],
  ["plan.created", readNames],
  ["plan.updated", readNames],
]);

/** What a merchant should subscribe the webhook to. */
export const knownTypes: readonly string[] = [
  ...readers.keys(),
  "customer.discount.created",
  "customer.discount.updated",
  "coupon.created",
  "coupon.updated",
];

/** Reports what was bought: an invoice or a session; the charge is the payment. */
export const purchaseTypes: readonly string[] = [
  "invoice.paid",
  "invoice.payment_succeeded",
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
];

/** An invoice may be open for a month, so MRR without a payment proves something only then. */
const invoiceOpenDays = 35;

export const neededTypes: readonly NeededTypes[] = [
  {
    for: "payments",
    types: ["charge.succeeded", "charge.captured", "charge.updated"],
    proof: { purchasesIn: purchaseTypes, mrrDays: invoiceOpenDays },
  },
  { for: "purchases", types: ["invoice.paid", "invoice.payment_succeeded"] },
  { for: "purchase_links", types: ["invoice_payment.paid"] },
  {
    for: "subscriptions",
    types: ["customer.subscription.created", "customer.subscription.updated"],
    proof: { subscriptionsSold: true },
  },
  { for: "ends", types: ["customer.subscription.deleted"] },
  { for: "refunds", types: ["refund.created", "refund.updated", "charge.refunded"] },
  {
    for: "disputes",
    types: ["charge.dispute.funds_withdrawn", "charge.dispute.created", "charge.dispute.closed"],
  },
];

export const thinEvent = "v2.core.event";

const envelopeShape = readOnce(
  z.object({
    type: z.string(),
    created: field.time,
    api_version: z.string().nullish(),
    account: z
      .string()
      .nullish()
      .transform((given) => given || null),
    data: z.object({
      object: anyObject.transform(inNamesOfToday),
      previous_attributes: anyObject.nullish(),
    }),
  }),
);

export function decode(body: unknown, known?: Known): Decoded {
  const answers = known?.answers ?? new Map<string, unknown>();
  if (isObject(body) && body.object === thinEvent) {
    return rejected("thin_event", "Choose the payload style “snapshot” for this event destination");
  }
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return malformed(envelope.error);
  const { type, created: at, api_version: apiVersion = null, account, data } = envelope.data;
  const kept = keptAndAnswered(keptIn(account, known?.kept ?? new Map()), answers);
  const read = readers.get(type);
  if (read === undefined) return ignored(`events of type ${type} report no money and no MRR`);
  const previous = data.previous_attributes ?? {};
  const object = withAnswers(data.object, answers);
  const names = productsIn([object, ...answers.values()], isProduct);
  const event = { type, at, apiVersion, account, object, previous, kept, answers };
  const reported = withNames(read(event), names);
  if (isUnreported(reported)) return reported;
  const facts = reported.map((fact) => ({ happenedAt: at, body: withOwnSkus(fact, account) }));
  return { outcome: "facts", facts };
}

/** Whole in its own events, and wherever its field was expanded. */
function isProduct({ object }: Readonly<Record<string, unknown>>, id: string): boolean {
  return object === "product" && id !== "";
}

export function asks(body: unknown, known: Known): Question[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !readers.has(envelope.data.type)) return [];
  const { type, account, data } = envelope.data;
  const own = { ...known, kept: keptIn(account, known.kept) };
  return asksOf({ type, account }, data.object, own);
}

export function customers(body: unknown): NamedCustomer[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !readers.has(envelope.data.type)) return [];
  const { account, created: at, data } = envelope.data;
  return namedIn({ account, at, object: data.object });
}

/** Discounts and coupons, which subscriptions of recent API versions name by id only. */
export function keeps(body: unknown): KeptObject[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return [];
  const { type, account, created, data } = envelope.data;
  return keptDiscounts(type, data.object, created).map((kept) => ({
    ...kept,
    id: idIn(account, kept.id),
    refers: kept.refers.map((id) => idIn(account, id)),
  }));
}

export function needs(body: unknown): string[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !envelope.data.type.startsWith("customer.subscription.")) return [];
  const { account, data } = envelope.data;
  return neededBySubscription(data.object).map((id) => idIn(account, id));
}

/** By the ids the account's own objects name them with. */
function keptIn(
  account: string | null,
  kept: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, unknown> {
  const prefix = idIn(account, "");
  const own = [...kept].filter(([id]) => id.startsWith(prefix));
  return new Map(own.map(([id, object]) => [id.slice(prefix.length), object]));
}
