/**
 * What a subscription's present state reveals about its past: that it began, when a trial became
 * paid, when it was paused or ended. Prices it had in between are not kept by Paddle; it is
 * reported as if the present ones had always been its own.
 */
import { z } from "zod";
import { anyObject, isObject } from "../../fields.js";
import { field } from "../event.js";
import { isWorth } from "../questions.js";
import { trialEndOf } from "../subscriptions.js";
import type { Reported } from "../../history-events.js";
import { type HistoryObject, rfc3339 } from "./object.js";

const dayMs = 24 * 60 * 60 * 1000;
/** What nobody pays for stops some time after its trial's end, mostly seconds. */
const trialClosesWithinMs = 60 * 60 * 1000;

const subscriptionShape = z.object({
  status: z.string(),
  created_at: field.time,
  started_at: field.time.nullish(),
  first_billed_at: field.time.nullish(),
  paused_at: field.time.nullish(),
  canceled_at: field.time.nullish(),
  items: z.array(
    z.looseObject({
      trial_dates: z.object({ ends_at: field.time }).nullish(),
      price: z.looseObject({ trial_period: anyObject.nullish() }),
    }),
  ),
});
type Subscription = z.output<typeof subscriptionShape>;

/** @param asOf ms since 1970, before the reading: the present state is as of then */
export function subscriptionHistory(subscription: HistoryObject, asOf: number): Reported[] {
  const updated = "subscription.updated";
  const { data } = subscriptionShape.safeParse(subscription);
  // Reported as it is: the adapter says what is wrong with it.
  if (data === undefined) return [{ type: updated, at: asOf, object: subscription }];
  const startedAt = data.started_at ?? data.created_at;
  const readAt = Math.max(asOf, startedAt);
  const begun = {
    ...subscription,
    status: "active",
    paused_at: null,
    canceled_at: null,
    scheduled_change: null,
    // What pays for nothing now is marked so; it did pay.
    ...(isWorth(data) ? {} : { items: asActive(subscription.items) }),
  };
  const asTrial = { ...begun, status: "trialing" };
  const isOnTrial = beganOnTrial(data, startedAt);
  const reported: Reported[] = [
    {
      type: "subscription.created",
      at: startedAt,
      object: isOnTrial ? asTrial : begun,
      once: "once",
    },
  ];
  const paidAt = isOnTrial ? firstPaidAt(data, startedAt, asOf) : null;
  if (paidAt !== null) {
    const period = { starts_at: rfc3339(paidAt) };
    reported.push({
      type: "subscription.activated",
      at: paidAt,
      object: { ...begun, first_billed_at: rfc3339(paidAt), current_billing_period: period },
      once: "once",
    });
  }
  const { status, paused_at: pausedAt = null, canceled_at: canceledAt = null } = data;
  if (status !== "canceled") {
    return [...reported, { type: updated, at: readAt, object: subscription, mayRecur: true }];
  }
  if (pausedAt !== null && pausedAt < (canceledAt ?? readAt)) {
    const paused = { ...subscription, status: "paused", canceled_at: null };
    reported.push({ type: "subscription.paused", at: pausedAt, object: paused });
  }
  const canceled = { type: "subscription.canceled", at: canceledAt ?? readAt };
  return [...reported, { ...canceled, object: subscription }];
}

/** Its price has a trial also where an import skipped it. */
function beganOnTrial(subscription: Subscription, startedAt: number): boolean {
  if (trialEndOf(subscription) !== null) return true;
  if (!subscription.items.some(({ price }) => price.trial_period)) return false;
  const billedAt = subscription.first_billed_at ?? null;
  return billedAt === null ? !isWorth(subscription) : billedAt > startedAt;
}

/**
 * When the trial became paid: at its planned end, or, where it was first billed at another time,
 * then. Null: it never was, or the trial is not over.
 */
function firstPaidAt(subscription: Subscription, startedAt: number, asOf: number): number | null {
  const { first_billed_at: billedAt = null, status } = subscription;
  if (status === "trialing") return null;
  const trialEnd = trialEndOf(subscription);
  if (billedAt !== null && billedAt > startedAt) {
    // It is billed seconds after the end, which is when the adapter dates a webhook's activation.
    const isAsPlanned = trialEnd !== null && Math.abs(billedAt - trialEnd) < dayMs;
    return isAsPlanned ? trialEnd : billedAt;
  }
  const stoppedAt = subscription.paused_at ?? subscription.canceled_at ?? asOf;
  const isOver = trialEnd !== null && stoppedAt - trialEnd > trialClosesWithinMs;
  return isOver ? trialEnd : null;
}

function asActive(items: unknown): unknown {
  return Array.isArray(items)
    ? items.map((item: unknown) => (isObject(item) ? { ...item, status: "active" } : item))
    : items;
}
