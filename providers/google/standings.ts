/** What a notification and its purchase say of the payments of a subscription. */
import type { FactBody } from "../../schemas/records/records.js";
import { endStanding, standingOf } from "../standing.js";
import type { PricedPeriod } from "./periods.js";
import type { Purchase } from "./purchase.js";
import { expiryOf, isReplaced, type Subject } from "./subscriptions.js";

/** In both states the renewal was declined; on hold the customer has no access any more. */
const failing: ReadonlySet<string> = new Set([
  "SUBSCRIPTION_IN_GRACE_PERIOD",
  "SUBSCRIPTION_ON_HOLD",
]);

export function standingsOf(
  { notification: { token: subscription, type, at }, account }: Subject,
  purchase: Purchase,
  periods: readonly PricedPeriod[],
): FactBody[] {
  const of = { subscription, account };
  const begun = periods.flatMap(({ from }) => (from <= at ? from : [])).sort((a, b) => a - b);
  const expiredAt = expiryOf(purchase, at);
  const isOver = expiredAt !== null && !isReplaced(purchase);
  return [
    ...standingOf(of, failing.has(type) ? "failing" : null, at, begun.at(-1)),
    ...(isOver ? standingOf(of, endStanding(isUnpaid(purchase)), expiredAt) : []),
  ];
}

/** Null where Google does not say who ended it. The system does where it cannot charge. */
function isUnpaid({ canceledStateContext: context }: Purchase): boolean | null {
  if (context?.systemInitiatedCancellation !== undefined) return true;
  const others = [context?.userInitiatedCancellation, context?.developerInitiatedCancellation];
  return others.some((other) => other !== undefined) ? false : null;
}
