/**
 * What can be said of a subscription's past from what it is now: that it began, when a trial
 * became paid, what it is worth now, when it ended. Prices it had in between are not kept by
 * Stripe; it is told as if the last had always been its price.
 */
import { z } from "zod";
import type { HistoryObject, Told } from "./backfill.js";

const updated = "customer.subscription.updated";
/** Stripe ends or pauses what nobody pays for some time after its trial's end, mostly seconds. */
const trialClosesWithinMs = 60 * 60 * 1000;

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
    hadTrial && trialEndsAt < untilNow && isPaidAfter(trialEndsAt, subscription)
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

/** Whether a paid period began when the trial was over; one that stopped with it had none. */
function isPaidAfter(trialEndsAt: number, subscription: HistoryObject): boolean {
  const { status } = subscription;
  if (status === "trialing") return false;
  if (status !== "paused") return isLongAfter(trialEndsAt, timeOf(subscription.ended_at));
  const pause = pauseOf(subscription);
  // Where Stripe does not say why, it is what alone paused before it could be asked to.
  return pause !== null && !pause.isOfTrial && isLongAfter(trialEndsAt, pause.at);
}

/** @param stoppedAt null: it goes on, or nobody knows */
function isLongAfter(trialEndsAt: number, stoppedAt: number | null): boolean {
  return stoppedAt === null || stoppedAt - trialEndsAt > trialClosesWithinMs;
}

const pausedShape = z.object({
  paused: z.object({
    subscription: z.object({ type: z.string() }),
    transitioned_at: z.number().nullish(),
  }),
});

/** Why it is paused; null where Stripe, as in all versions before 2026-05-27, does not say. */
function pauseOf({ status_details: details }: HistoryObject) {
  const told = pausedShape.safeParse(details);
  if (!told.success) return null;
  const { subscription, transitioned_at: at } = told.data.paused;
  return { isOfTrial: subscription.type === "trial_end_without_payment_method", at: timeOf(at) };
}

function timeOf(seconds: unknown): number | null {
  return typeof seconds === "number" ? seconds * 1000 : null;
}
