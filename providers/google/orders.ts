/**
 * Orders: the one place where Google's money is read from. Each paid order is a payment, its
 * history says what was returned of it.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import { limits } from "../../config.js";
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, type Unreported } from "../outcomes.js";
import { apiName } from "./notification.js";
import { country, minorIn, minorOf, money, time } from "./reading.js";

/** An order in a state to come is not taken for an unpaid one. */
const unpaidStates = ["PENDING", "CANCELED"] as const;
const paidStates = ["PROCESSED", "PENDING_REFUND", "PARTIALLY_REFUNDED", "REFUNDED"] as const;

const phases = z
  .object({
    freeTrialDetails: z.unknown().optional(),
    introductoryPriceDetails: z.unknown().optional(),
    prorationPeriodDetails: z.object({ originalOfferPhase: z.string().nullish() }).optional(),
  })
  .nullish();

const lineShape = z.object({
  productId: apiName,
  productTitle: z.string().nullish().catch(null),
  listingPrice: money.nullish(),
  total: money.nullish(),
  tax: money.nullish(),
  subscriptionDetails: z
    .object({
      basePlanId: z.string().nullish(),
      // Deprecated for the details below, which say the same and more.
      offerPhase: z.string().nullish(),
      offerPhaseDetails: phases,
      servicePeriodStartTime: time.nullish(),
      servicePeriodEndTime: time.nullish(),
    })
    .nullish(),
});

const refundDetails = z
  .object({ total: money.nullish(), tax: money.nullish().catch(null) })
  .nullish();

export const orderShape = compiled(
  z.object({
    orderId: apiName,
    state: z.enum([...unpaidStates, ...paidStates]),
    createTime: time,
    lastEventTime: time.nullish(),
    total: money,
    tax: money.nullish(),
    buyerAddress: z.object({ buyerCountry: country }).nullish().catch(null),
    developerRevenueInBuyerCurrency: money.nullish().catch(null),
    lineItems: z.array(lineShape).max(limits.linesPerPurchaseMax).default([]),
    orderHistory: z
      .object({
        partialRefundEvents: z
          .array(
            z.object({
              createTime: time,
              processTime: time.nullish(),
              state: z.string().nullish(),
              refundDetails,
            }),
          )
          .max(limits.factsPerPaymentMax)
          .nullish(),
        refundEvent: z
          .object({ eventTime: time, refundReason: z.string().nullish(), refundDetails })
          .nullish(),
      })
      .nullish(),
  }),
);
export type Order = z.output<typeof orderShape>;
export type OrderLine = Order["lineItems"][number];

/** Whose order it is, as the purchase knows it. */
export interface Buyer {
  readonly account: string | null;
  readonly country: string | null;
}

/** The order was charged, even if refunded later. An order of 0 is no payment. */
export function isPaid({ state }: Order): boolean {
  return paidStates.some((paid) => paid === state);
}

/**
 * Whether the order already shows the reported refund: all of it returned, or some of it and
 * nothing pending.
 */
export function showsRefund(order: Order, isWhole: boolean): boolean {
  const amount = minorOf(order.total);
  if (!isPaid(order) || amount <= 0n) return true;
  const left = returnedOf(order, amount).reduce((rest, fact) => rest - amountIn(fact), amount);
  if (left <= 0n) return true;
  const parts = order.orderHistory?.partialRefundEvents ?? [];
  return left < amount && !isWhole && processedParts(order).length === parts.length;
}

function amountIn(fact: FactBody): bigint {
  if ("Refund" in fact) return fact.Refund.amount;
  return "Dispute" in fact ? (fact.Dispute.amount ?? 0n) : 0n;
}

/** What was paid and returned cannot be true together; null: it can. */
export function contradictionIn(order: Order): Unreported | null {
  const amount = minorOf(order.total);
  if (amount < 0n) return contradictory("The total of an order is less than nothing");
  if (!isPaid(order)) return null;
  const costs = order.lineItems.some(({ total }) => total && minorOf(total) > 0n);
  if (amount === 0n) {
    return costs ? contradictory("An order is of nothing, and a line of it is not") : null;
  }
  const returned = processedParts(order).flatMap((part) => part.refundDetails?.total ?? []);
  if (returned.some(({ currency }) => currency !== order.total.currency)) {
    return contradictory("A part of an order was returned in another currency");
  }
  return returned.reduce((sum, part) => sum + minorOf(part), 0n) > amount
    ? contradictory("More of an order was returned than was paid")
    : null;
}

/** The payment, dated when the order was made, and all that was returned of it since. */
export function readOrder(order: Order, buyer: Buyer): FactBody[] {
  const amount = minorOf(order.total);
  if (!isPaid(order) || amount <= 0n) return [];
  const { currency } = order.total;
  const isSubscription = order.lineItems.some((line) => line.subscriptionDetails);
  const payment: FactBody = {
    Payment: {
      payment: order.orderId,
      at: order.createTime,
      amount,
      currency,
      account: buyer.account,
      country: order.buyerAddress?.buyerCountry ?? buyer.country,
      type: isSubscription ? "subscription" : "one_time",
      tax: minorIn(currency, order.tax),
      fee: feeOf(order, amount),
      lines: order.lineItems.map((line) => ({ external_id: line.productId, weight: netOf(line) })),
    },
  };
  return [payment, ...returnedOf(order, amount)];
}

/**
 * What Google kept: the total less tax and revenue. The revenue is reported after refunds, so that
 * a refunded order reports no fee; an earlier reading has reported it.
 */
function feeOf(order: Order, amount: bigint): bigint | null {
  const { developerRevenueInBuyerCurrency, tax, total } = order;
  const revenue = minorIn(total.currency, developerRevenueInBuyerCurrency);
  if (order.state !== "PROCESSED" || revenue === null) return null;
  const fee = amount - (tax ? minorOf(tax) : 0n) - revenue;
  return fee >= 0n ? fee : null;
}

function netOf({ total, tax, listingPrice }: OrderLine): bigint {
  const paid = total ?? listingPrice;
  if (!paid) return 0n;
  return minorOf(paid) - (minorIn(paid.currency, tax) ?? 0n);
}

/**
 * Partial refunds count once they are processed. A full refund returns what they left, whichever
 * of the two Google reports as its total; a chargeback takes it by way of a dispute.
 */
function returnedOf(order: Order, amount: bigint): FactBody[] {
  const { orderId: payment, orderHistory: history, total } = order;
  const { currency } = total;
  const partial = processedParts(order)
    .map(({ createTime, processTime, refundDetails: details }) => ({
      createTime,
      at: processTime ?? createTime,
      amount: minorIn(currency, details?.total) ?? 0n,
      tax: minorIn(currency, details?.tax),
    }))
    .filter((refund) => refund.amount > 0n);
  const facts = partial.map((refund, index) => {
    const twins = partial.slice(0, index).filter((one) => one.createTime === refund.createTime);
    const id = [payment, new Date(refund.createTime).toISOString(), twins.length].join("/");
    return refundOf(id, payment, currency, refund);
  });
  const left = partial.reduce((rest, refund) => rest - refund.amount, amount);
  const full = history?.refundEvent ?? null;
  const refundedAt = full?.eventTime ?? (order.state === "REFUNDED" ? order.lastEventTime : null);
  if (left <= 0n || refundedAt === null || refundedAt === undefined) return facts;
  if (full?.refundReason !== "CHARGEBACK") {
    const rest = { at: refundedAt, amount: left, tax: null };
    return [...facts, refundOf(`${payment}/full`, payment, currency, rest)];
  }
  const dispute = { dispute: `${payment}/chargeback`, payment, amount: left, currency };
  const times = { withdrawn_at: refundedAt, returned_at: null, reported_by: "money" as const };
  return [...facts, { Dispute: { ...dispute, ...times } }];
}

function processedParts({ orderHistory: history }: Order) {
  const processed = "PROCESSED_SUCCESSFULLY";
  return (history?.partialRefundEvents ?? []).filter(
    ({ state }) => (state ?? processed) === processed,
  );
}

function refundOf(
  refund: string,
  payment: string,
  currency: string,
  { at, amount, tax }: { at: number; amount: bigint; tax: bigint | null },
): FactBody {
  const unknown = { failed_at: null, account: null, country: null, lines: [] };
  return { Refund: { refund, payment, at, amount, currency, tax, ...unknown } };
}
