/** What each period of a subscription is worth a month, from the order that paid for it. */
import { billingPeriodBetween } from "../../schemas/money/billing-periods.js";
import type { BillingPeriod } from "../../schemas/money/monthly.js";
import type { Item } from "../../schemas/records/records.js";
import { rejected, type Unreported } from "../outcomes.js";
import { monthlyItem } from "../worth.js";
import { billingPeriodIn } from "./catalogue.js";
import { isPaid, type Order, type OrderLine } from "./orders.js";
import { minorFractionOf, unavailable } from "./reading.js";

/** One product from `from` on, until a later period of it or its end. */
export interface PricedPeriod {
  readonly product: string;
  /** ms since 1970, as `until` */
  readonly from: number;
  readonly until: number | null;
  /** When the order was made. */
  readonly paidAt: number;
  readonly currency: string;
  readonly isTrial: boolean;
  /** What counts of it; nothing in a free trial. */
  readonly items: readonly Item[];
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Whether the two ends of the line's period say how often it is billed. Those of a proration
 * period do not, nor those of a test purchase, whose month lasts five minutes.
 */
export function isPeriodReported({ subscriptionDetails: details }: OrderLine): boolean {
  return !details || isFree(details) || endsOf(details) !== null;
}

/** @param catalogueOf the answer about a line's product; undefined where it was not to be had */
export function pricedPeriods(
  orders: readonly Order[],
  catalogueOf: (line: OrderLine) => unknown,
): PricedPeriod[] | Unreported {
  const periods: PricedPeriod[] = [];
  for (const order of orders.filter(isPaid)) {
    for (const line of order.lineItems) {
      const { subscriptionDetails: details, productId: product, listingPrice } = line;
      if (!details) continue;
      const from = details.servicePeriodStartTime ?? order.createTime;
      const until = details.servicePeriodEndTime ?? null;
      const common = { product, from, until, paidAt: order.createTime };
      if (isFree(details)) {
        periods.push({ currency: order.total.currency, isTrial: true, items: [], ...common });
        continue;
      }
      if (!listingPrice) return rejected("malformed", "order: lineItems.listingPrice: missing");
      const billing = billingPeriodOf(line, catalogueOf);
      if ("outcome" in billing) return billing;
      const items = monthlyItem(product, product, minorFractionOf(listingPrice), billing);
      periods.push({ currency: listingPrice.currency, isTrial: false, items, ...common });
    }
  }
  return periods;
}

type Details = NonNullable<OrderLine["subscriptionDetails"]>;

function isFree({ offerPhase, offerPhaseDetails: phases }: Details): boolean {
  if (!phases) return offerPhase === "FREE_TRIAL";
  // A trial goes on in the proration period of a change of plan, and is called both.
  const { freeTrialDetails, prorationPeriodDetails } = phases;
  return (
    freeTrialDetails !== undefined || prorationPeriodDetails?.originalOfferPhase === "FREE_TRIAL"
  );
}

function endsOf(details: Details): { from: number; until: number } | null {
  const from = details.servicePeriodStartTime ?? null;
  const until = details.servicePeriodEndTime ?? null;
  const isProration = details.offerPhaseDetails?.prorationPeriodDetails !== undefined;
  if (isProration || from === null || until === null || until - from < dayMs) return null;
  return { from, until };
}

function billingPeriodOf(
  line: OrderLine,
  catalogueOf: (line: OrderLine) => unknown,
): BillingPeriod | Unreported {
  const ends = line.subscriptionDetails ? endsOf(line.subscriptionDetails) : null;
  const reported = ends && billingPeriodBetween(ends.from, ends.until);
  if (reported) return reported;
  const answer = catalogueOf(line);
  if (answer === undefined) return unavailable("the billing period of a base plan");
  const billing = billingPeriodIn(answer, line.subscriptionDetails?.basePlanId ?? null);
  return billing ?? rejected("interval_unknown", "Neither order nor catalogue reports the period");
}
