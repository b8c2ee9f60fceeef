/**
 * When a membership ended (`GET /v2/subscribers/<id>`): a ping of its end says so, the sales that a
 * backfill lists only that it did. Source: antiwork/gumroad, Subscription#as_json and
 * #termination_reason.
 */
import { z } from "zod";
import { ignored, rejected, type Unreported } from "../outcomes.js";
import type { Known, Question } from "../provider.js";
import { plansOf } from "./plans.js";

const hourMs = 60 * 60 * 1000;
/** Every minute it looks for memberships whose time is over, and it may be late. */
const noticedWithinMs = 24 * hourMs;

const time = z.string().nullish();
const foundShape = z.object({
  success: z.literal(true),
  subscriber: z.object({ failed_at: time, ended_at: time, cancelled_at: time }),
});

export function endQuestion(subscription: string): Question {
  return { path: pathOf(subscription), importance: "required", freshForMs: hourMs };
}

/** As a ping's fields have it. */
export function endOf(subscription: string, known: Known): EndFields | Unreported {
  const found = foundShape.safeParse(known.answers.get(pathOf(subscription))).data;
  if (found === undefined) {
    return rejected("enrichment_unavailable", "Gumroad must be asked: when a membership ended");
  }
  const end = endIn(found.subscriber);
  const at = Date.parse(end?.ended_at ?? "");
  if (end === null || !(at <= (known.firstReceivedAt ?? 0))) {
    return ignored("the membership goes on");
  }
  // A ping is sent when Gumroad has noticed, and counts.
  const { ends } = plansOf(subscription, known.kept);
  const isReported = ends.some(({ endedAt }) => endedAt > at && endedAt - at < noticedWithinMs);
  return isReported ? ignored("a ping has reported this end") : end;
}

function endIn(subscriber: z.output<typeof foundShape>["subscriber"]): EndFields | null {
  const { failed_at: failed, ended_at: ended, cancelled_at: cancelled } = subscriber;
  if (failed) return { ended_at: failed, ended_reason: "failed_payment" };
  if (ended) return { ended_at: ended, ended_reason: "fixed_subscription_period_ended" };
  return cancelled ? { ended_at: cancelled, ended_reason: "cancelled" } : null;
}

interface EndFields {
  readonly ended_at: string;
  readonly ended_reason: string;
}

function pathOf(subscription: string): string {
  return `/v2/subscribers/${encodeURIComponent(subscription)}`;
}
