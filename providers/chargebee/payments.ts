/** What a payment, or one that failed, says of the subscription that it was for. */
import { z } from "zod";
import { anyObject, compiled } from "../fields.js";
import { ignored, isUnreported } from "../outcomes.js";
import { standingOf } from "../standing.js";
import { factsAt, field, reader, type Reported } from "./event.js";
import { isWorth } from "./questions.js";
import { readSubscription } from "./subscriptions.js";

const subscriptionShape = z.object({
  id: field.id,
  status: z.string(),
  customer_id: field.id,
  due_invoices_count: z.int().nullish().catch(null),
  resource_version: field.version,
});

/** `exhausted` after the last attempt; none before the first one that fails. */
const dunnedShape = compiled(z.object({ dunning_status: z.string().min(1) }));

/** After the last attempt it is cancelled, which is told by its own event, or left unpaid. */
export const readFailure = reader(subscriptionShape, (subscription, event) => {
  const { id, customer_id: account, status, resource_version: version } = subscription;
  if (!isWorth(status)) return ignored("the subscription is worth nothing");
  // The time of an event has no milliseconds: what made it may seem to come after it.
  const at = Math.max(version ?? event.at, event.at);
  const { data: invoice } = dunnedShape.safeParse(event.content["invoice"]);
  const standing = invoice?.dunning_status === "exhausted" ? "unpaid" : "failing";
  return factsAt(at, event, standingOf({ subscription: id, account }, standing, at));
});

/**
 * After failures, the subscription as it is: else they would stay open until it renews. What it is
 * worth may not be clear from this event, which is no reason not to read the money.
 */
export const readRecovery = reader(anyObject, (object, event): Reported => {
  const { data: subscription } = paidShape.safeParse(object);
  const isPaid = isWorth(subscription?.status ?? "") && !subscription?.due_invoices_count;
  if (!isPaid || !dunnedShape.safeParse(event.content["invoice"]).success) return noRecovery;
  // A payment may leave its version as it was.
  const version = Math.max(subscription?.resource_version ?? event.at, event.at);
  const reported = readSubscription({ ...event, object: { ...object, resource_version: version } });
  return isUnreported(reported) ? noRecovery : reported;
});

const paidShape = compiled(subscriptionShape);
const noRecovery = ignored("no subscription is in order again");
