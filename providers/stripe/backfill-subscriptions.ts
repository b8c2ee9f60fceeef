/**
 * What can be said of a subscription's past from what it is now: that it began, when a trial
 * became paid, what it is worth now, when it ended. Prices it had in between are not kept by
 * Stripe; it is told as if the last had always been its price.
 */
import type { HistoryObject, Told } from "./backfill.js";

const updated = "customer.subscription.updated";

/** @param now ms since 1970, of the reading: the present state is as of then */
export function subscriptionHistory(subscription: HistoryObject, now: number): Told[] {
  const { status } = subscription;
  // It never came to be.
  if (status === "incomplete" || status === "incomplete_expired") return [];
  const createdAt = subscription.created * 1000;
  const trialEndsAt = timeOf(subscription.trial_end);
  const endedAt = timeOf(subscription.ended_at);
  const hadTrial = trialEndsAt !== null && trialEndsAt > createdAt;
  const begun = { ...subscription, ended_at: null, pause_collection: null };
  const start: Told = {
    type: "customer.subscription.created",
    at: createdAt,
    object: { ...begun, status: hadTrial ? "trialing" : "active" },
    once: true,
  };
  const untilNow = endedAt ?? now;
  const converted: Told[] =
    hadTrial && status !== "trialing" && trialEndsAt < untilNow
      ? [
          {
            type: updated,
            at: trialEndsAt,
            object: { ...begun, status: "active" },
            previous: { status: "trialing" },
            once: true,
          },
        ]
      : [];
  const present: Told =
    status === "canceled"
      ? { type: "customer.subscription.deleted", at: untilNow, object: subscription }
      : { type: updated, at: now, object: subscription };
  return [start, ...converted, present];
}

function timeOf(seconds: unknown): number | null {
  return typeof seconds === "number" ? seconds * 1000 : null;
}
