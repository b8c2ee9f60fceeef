/** Random histories of one Stripe payment: its charge, invoice and link, refunds and disputes. */
import * as fc from "fast-check";
import {
  type ApiVersion,
  type EventInput,
  isNewLayout,
  type JsonObject,
} from "../../../ops/payloads/stripe.js";
import {
  chargeObject,
  disputeObject,
  invoiceObject,
  invoicePaymentObject,
  refundObject,
} from "../../../ops/payloads/stripe-money.js";
import { creditNoteObject, sessionObject } from "../../payloads/stripe-sales.js";
import {
  after,
  countries,
  type Drawn,
  gaps,
  secondMs,
  type Script,
  seldom,
  stripeAmount,
} from "./story.js";

interface Who extends Pick<EventInput, "livemode" | "account"> {
  readonly customer: string;
  readonly currency: string;
  readonly country: string | null;
  readonly version: ApiVersion;
}

/** Who pays, and what Stripe reports of them. */
export class Payer {
  constructor(
    readonly script: Script,
    readonly who: Who,
  ) {}

  id(prefix: string): string {
    return this.script.id(prefix);
  }

  say(type: string, at: number, object: JsonObject, previous?: JsonObject): void {
    this.script.stripe({ ...this.who, type, at, object, ...(previous && { previous }) });
  }

  /** As Stripe counts it. */
  counted(amount: bigint): bigint {
    return stripeAmount(amount, this.who.currency);
  }
}

export interface BoughtLine {
  readonly sku: string;
  /** Minor units of ISO 4217, before the discount; negative for a credited proration. */
  readonly amount: bigint;
  readonly discount: bigint;
}

const refunds = fc.record({
  gap: gaps,
  /** Of what is left, in percent. */
  percent: fc.constantFrom(100, 100, 1, 33, 50),
  reported: fc.constantFrom("refund", "charge", "both"),
  /** In two refunds of one second, each of which the charge shows in turn. */
  isSplit: fc.nat(3).map((drawn) => drawn === 0),
  failsAfter: seldom(gaps),
  fails: fc.constantFrom("failed", "canceled"),
  failsBy: fc.constantFrom("refund.failed", "refund.updated", "charge.refund.updated"),
});

const disputes = fc.record({
  gap: gaps,
  closesAfter: gaps,
  outcome: fc.constantFrom("won", "lost", "part", "open", "inquiry", "prevented"),
  /** Of the charge. */
  percent: fc.constantFrom(100, 100, 40),
  isExact: fc.boolean(),
  /** Of two events in one second the one with the greater id does not show the return yet. */
  isStale: fc.boolean(),
});

const notes = fc.record({
  gap: gaps,
  percent: fc.constantFrom(100, 30, 50, 67),
  voidedAfter: seldom(gaps),
});

export const paymentFates = fc.record({
  /** Where the customer says to be this time; null: where they always are. */
  country: seldom(countries),
  refunds: fc.oneof(
    { weight: 3, arbitrary: fc.array(refunds, { maxLength: 0 }) },
    { weight: 1, arbitrary: fc.array(refunds, { minLength: 1, maxLength: 3 }) },
  ),
  dispute: seldom(disputes),
  /** Deliveries that never come. */
  lost: fc.constantFrom("none", "none", "none", "none", "charge", "invoice", "link"),
  /** Paid after the checkout, as by bank debit. */
  isDelayed: fc.nat(3).map((drawn) => drawn === 0),
  isOutOfBand: fc.nat(9).map((drawn) => drawn === 0),
  /** Of money from outside: who reports it, where payment records can. */
  outsideReportedBy: fc.constantFrom("invoice", "records", "both"),
  /** Within every other line, instead of on top. */
  isTaxInside: fc.nat(3).map((drawn) => drawn === 0),
  /** An invoice paid little by little: how many payments there are, and the days between. */
  parts: fc.constantFrom(1, 1, 1, 1, 2, 3),
  partGap: gaps,
  /** Credit notes of money given back outside Stripe, in percent of the invoice. */
  notes: fc.oneof(
    { weight: 4, arbitrary: fc.array(notes, { maxLength: 0 }) },
    { weight: 1, arbitrary: fc.array(notes, { minLength: 1, maxLength: 2 }) },
  ),
  /** Authorized beside and given back uncaptured: more of the charge, or another one. */
  released: fc.constantFrom("none", "none", "none", "none", "none", "none", "part", "whole"),
});
export type PaymentFate = Drawn<typeof paymentFates>;
type Refunding = Drawn<typeof refunds>;
type Disputing = Drawn<typeof disputes>;

/**
 * @param lines empty: a one-off payment without an invoice
 * @param subscription null: a one-off invoice
 */
export function emitPayment(
  usual: Payer,
  at: number,
  lines: readonly BoughtLine[],
  subscription: string | null,
  net: bigint,
  fate: PaymentFate,
): void {
  if (net <= 0n || at > usual.script.end) return;
  const country = fate.country ?? usual.who.country;
  const payer = new Payer(usual.script, { ...usual.who, country });
  const ids = {
    charge: payer.id("ch"),
    paymentIntent: payer.id("pi"),
    invoice: payer.id("in"),
  };
  const isInvoiced = lines.length > 0;
  const isOutOfBand = isInvoiced && fate.isOutOfBand;
  const inside = fate.isTaxInside ? lines.map(taxInside) : [];
  const taxInLines = inside.reduce((sum, one) => sum + one, 0n);
  const tax = !isInvoiced ? 0n : fate.isTaxInside ? taxInLines : net / 7n;
  const count = isInvoiced ? fate.parts : 1;
  if (isInvoiced) {
    const taxOnTop = fate.isTaxInside ? 0n : tax;
    const first = count > 1 && !isOutOfBand ? firstPart(net + tax) : null;
    const bought = { lines, inside, taxOnTop, subscription, first };
    emitInvoice(payer, at, ids, bought, fate);
  }
  // Beside refunds and disputes more might go back than was paid.
  if (isInvoiced && fate.refunds.length === 0 && fate.dispute === null) {
    emitNotes(payer, at, ids.invoice, { amount: net + tax, tax }, fate.notes);
  }
  let left = net + tax;
  let time = at;
  if (isOutOfBand) {
    for (let part = 1; part <= count && left > 0n && areRecorded(payer, fate); part += 1) {
      const amount = part === count ? left : firstPart(left);
      const record = { ...ids, paymentIntent: payer.id("pr") };
      emitLink(payer, at, record, amount, isInvoiced, false);
      left -= amount;
    }
    return;
  }
  for (let part = 1; part <= count && left > 0n && time <= payer.script.end; part += 1) {
    const amount = part === count ? left : firstPart(left);
    const own = { charge: payer.id("ch"), paymentIntent: payer.id("pi") };
    emitCharge(payer, time, part === 1 ? ids : { ...ids, ...own }, amount, isInvoiced, fate);
    left -= amount;
    time = after(time, fate.partGap) + secondMs;
  }
}

function firstPart(whole: bigint): bigint {
  return whole / 3n + 1n;
}

/** A quarter of what every other line brings in. */
function taxInside({ amount, discount }: BoughtLine, place: number): bigint {
  return place % 2 === 0 && amount > discount ? (amount - discount) / 4n : 0n;
}

/** Only since 2025-03-31. */
function areRecorded({ who: { version } }: Payer, { outsideReportedBy }: PaymentFate): boolean {
  return isNewLayout(version) && outsideReportedBy !== "invoice";
}

/** One charge, the link to what it paid, and what became of it. */
function emitCharge(
  payer: Payer,
  at: number,
  ids: Ids,
  amount: bigint,
  isInvoiced: boolean,
  fate: PaymentFate,
): void {
  if (fate.lost !== "link") {
    emitLink(payer, at, ids, amount, isInvoiced, fate.isDelayed);
  }
  const { standingAt, actions } = refundsOf(fate.refunds, at, amount);
  const released = fate.released === "part" ? amount / 2n + 1n : 0n;
  const reportsRelease = !isNewLayout(payer.who.version);
  const chargeAt = (time: number, standing = standingAt(time)): JsonObject =>
    chargeObject({
      id: ids.charge,
      paymentIntent: ids.paymentIntent,
      ...payer.who,
      amount: payer.counted(amount + released),
      amountCaptured: payer.counted(amount),
      createdAt: at,
      invoice: isInvoiced ? ids.invoice : null,
      amountRefunded: payer.counted(standing + (reportsRelease ? released : 0n)),
    });
  const isReported = fate.lost !== "charge";
  if (isReported) payer.say("charge.succeeded", at, chargeAt(at));
  if (released > 0n && reportsRelease) emitRelease(payer, at, ids, released);
  if (fate.released === "whole") {
    const other = { ...ids, charge: payer.id("ch"), paymentIntent: payer.id("pi") };
    const { charge: id, paymentIntent } = other;
    payer.say("charge.succeeded", at, {
      ...chargeAt(at),
      id,
      payment_intent: paymentIntent,
      ...held,
    });
    if (reportsRelease) emitRelease(payer, at, other, amount);
  }
  // Without its sale each refund is converted apart: one is enough to see that.
  const refundings = isReported ? actions : actions.slice(0, 1);
  for (const { refund, time, failedAt, fails, failsBy, reported, standing } of refundings) {
    const refundId = payer.id(`re_${refund}`);
    const objectOf = (status: "succeeded" | Refunding["fails"]) =>
      refundObject({
        ...ids,
        id: refundId,
        amount: payer.counted(refund),
        currency: payer.who.currency,
        createdAt: time,
        status,
      });
    if (reported !== "charge" || !isReported)
      payer.say("refund.created", time, objectOf("succeeded"));
    if (reported !== "refund" && isReported)
      payer.say("charge.refunded", time, chargeAt(time, standing));
    if (failedAt !== null && isReported) payer.say(failsBy, failedAt, objectOf(fails));
  }
  if (fate.dispute !== null && isReported) emitDispute(payer, at, ids, amount, fate.dispute);
}

/** @param whole what the invoice came to */
function emitNotes(
  payer: Payer,
  at: number,
  invoice: string,
  whole: { readonly amount: bigint; readonly tax: bigint },
  plans: PaymentFate["notes"],
): void {
  let left = whole.amount;
  let time = at;
  for (const { gap, percent, voidedAfter } of plans) {
    time = after(time, gap) + secondMs;
    const createdAt = time;
    const amount = (whole.amount * BigInt(percent)) / 100n;
    if (amount <= 0n || amount > left) continue;
    const id = payer.id("cn");
    const tax = (whole.tax * BigInt(percent)) / 100n;
    const objectOf = (voidedAt?: number) =>
      creditNoteObject({
        id,
        invoice,
        currency: payer.who.currency,
        createdAt,
        amountOutside: payer.counted(amount),
        tax: payer.counted(tax),
        ...(voidedAt === undefined ? {} : { voidedAt }),
      });
    payer.say("credit_note.created", createdAt, objectOf());
    if (voidedAfter === null) left -= amount;
    else {
      time = after(time, voidedAfter) + secondMs;
      payer.say("credit_note.voided", time, objectOf(time));
    }
  }
}

/** As of an authorization that is never captured. */
const held: JsonObject = { captured: false, amount_captured: 0, balance_transaction: null };

/** Until 2025-03-31 Stripe made a refund of it, though nothing was collected. */
function emitRelease(payer: Payer, at: number, ids: Ids, amount: bigint): void {
  const object = refundObject({
    ...ids,
    id: payer.id("re_released"),
    amount: payer.counted(amount),
    currency: payer.who.currency,
    createdAt: at,
    isRelease: true,
  });
  payer.say("refund.created", at, object);
}

interface Ids {
  readonly charge: string;
  readonly paymentIntent: string;
  readonly invoice: string;
}

interface Bought {
  readonly lines: readonly BoughtLine[];
  /** Tax within each line, beside its amount; empty: none. */
  readonly inside: readonly bigint[];
  readonly taxOnTop: bigint;
  readonly subscription: string | null;
  /** Of several payments the first, after which the invoice is open; null: it is paid at once. */
  readonly first: bigint | null;
}

function emitInvoice(
  payer: Payer,
  at: number,
  ids: Ids,
  { lines, inside, taxOnTop, subscription, first }: Bought,
  fate: PaymentFate,
): void {
  const { isOutOfBand } = fate;
  const object = invoiceObject({
    ...payer.who,
    id: ids.invoice,
    createdAt: at,
    paidAt: at,
    subscription,
    outOfBand: isOutOfBand,
    tax: payer.counted(taxOnTop),
    ...(isOutOfBand ? {} : { paymentIntent: ids.paymentIntent, charge: ids.charge }),
    lines: lines.map(({ sku, amount, discount }, index) => ({
      id: `${ids.invoice}_line_${index}`,
      product: sku,
      price: `price_${sku}`,
      amount: payer.counted(amount + (inside[index] ?? 0n)),
      discount: payer.counted(discount),
      taxInside: payer.counted(inside[index] ?? 0n),
      ...(subscription === null ? {} : { subscription }),
    })),
  });
  if (first !== null) {
    const paid = Number(payer.counted(first));
    payer.say("invoice.updated", at, { ...object, ...open, amount_paid: paid });
  }
  if (fate.lost === "invoice" && !isOutOfBand) return;
  const { amount_paid_off_stripe: _outside, ...silent } = object;
  const isSilent = areRecorded(payer, fate) && fate.outsideReportedBy === "records";
  payer.say("invoice.paid", at, isSilent ? silent : object);
  payer.say("invoice.payment_succeeded", at, isSilent ? silent : object);
}

/** As it stands until all of it is paid. */
const open: JsonObject = { paid: false, status: "open" };

/** What ties the payment to what was bought; the old layout's invoice names its payment itself. */
function emitLink(
  payer: Payer,
  at: number,
  ids: Ids,
  amount: bigint,
  isInvoiced: boolean,
  isDelayed: boolean,
): void {
  const { currency, customer, country, version } = payer.who;
  const sent = payer.counted(amount);
  if (isInvoiced && isNewLayout(version)) {
    const { invoice, paymentIntent: payment } = ids;
    const id = payer.id("inpay");
    const object = invoicePaymentObject({
      id,
      invoice,
      payment,
      amount: sent,
      currency,
      paidAt: at,
    });
    payer.say("invoice_payment.paid", at, object);
  } else if (!isInvoiced) {
    const id = payer.id("cs");
    const objectOf = (paymentStatus: "paid" | "unpaid") =>
      sessionObject({
        id,
        mode: "payment",
        paymentStatus,
        amount: sent,
        currency,
        createdAt: at,
        customer,
        country,
        paymentIntent: ids.paymentIntent,
        tax: payer.counted(amount / 6n),
      });
    payer.say("checkout.session.completed", at, objectOf(isDelayed ? "unpaid" : "paid"));
    if (isDelayed) payer.say("checkout.session.async_payment_succeeded", at, objectOf("paid"));
  }
}

interface RefundAction extends Pick<Refunding, "reported" | "fails" | "failsBy"> {
  readonly refund: bigint;
  readonly time: number;
  readonly failedAt: number | null;
  /** All that is refunded with it. */
  readonly standing: bigint;
}

function refundsOf(plans: readonly Refunding[], at: number, amount: bigint) {
  const actions: RefundAction[] = [];
  const standingAt = (time: number) =>
    actions
      .filter((action) => action.time <= time && (action.failedAt ?? Infinity) > time)
      .reduce((sum, { refund }) => sum + refund, 0n);
  let time = at;
  for (const { gap, percent, isSplit, failsAfter, reported, fails, failsBy } of plans) {
    time = after(time, gap) + secondMs;
    const left = amount - actions.reduce((sum, { refund }) => sum + refund, 0n);
    const refund = (left * BigInt(percent)) / 100n;
    if (refund <= 0n) continue;
    const failedAt = failsAfter === null ? null : after(time, failsAfter) + secondMs;
    const first = isSplit ? refund / 3n : 0n;
    const standing = standingAt(time) + refund;
    const how = { time, failedAt, fails, failsBy, reported };
    actions.push({ ...how, refund: refund - first, standing });
    // The event with the greater id shows the charge as it was before the other.
    if (first > 0n) {
      actions.push({ ...how, refund: first, standing: standing - refund + first });
    }
  }
  return { standingAt, actions };
}

function emitDispute(payer: Payer, at: number, ids: Ids, charged: bigint, plan: Disputing): void {
  const id = payer.id("dp");
  const opened = after(at, plan.gap) + secondMs;
  const closed = after(opened, plan.closesAfter) + secondMs;
  const { outcome } = plan;
  const amount = (charged * BigInt(plan.percent)) / 100n;
  if (amount === 0n) return;
  // Only the money says how much of it came back.
  const isExact = plan.isExact || outcome === "part";
  const returned = outcome === "part" ? amount / 3n + 1n : amount;
  const report = (type: string, time: number, status: string, moved: number) => {
    const object = disputeObject({
      ...ids,
      id,
      amount: payer.counted(amount),
      currency: payer.who.currency,
      createdAt: opened,
      status,
      ...(isExact && moved > 0 ? { withdrawnAt: opened } : {}),
      ...(isExact && moved > 1 ? { returnedAt: closed } : {}),
      returnedAmount: payer.counted(returned),
    });
    payer.say(`charge.dispute.${type}`, time, object);
  };
  if (outcome === "inquiry" || outcome === "prevented") {
    report("created", opened, "warning_needs_response", 0);
    report("closed", closed, outcome === "inquiry" ? "warning_closed" : "prevented", 0);
    return;
  }
  report("created", opened, "needs_response", 1);
  report("funds_withdrawn", opened, "needs_response", 1);
  if (outcome === "open") return;
  const status = outcome === "won" ? "won" : "lost";
  if (outcome !== "lost") report("funds_reinstated", closed, status, 2);
  report("closed", closed, status, outcome === "lost" || plan.isStale ? 1 : 2);
}
