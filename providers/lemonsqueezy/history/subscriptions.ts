/**
 * What a subscription's present state reveals about its past: that it began, when a trial became
 * paid, what it is worth now, when it ended. Earlier prices are kept nowhere; it is reported as if
 * the last had always been its price.
 */
import { z } from "zod";
import { isObject } from "../../fields.js";
import { field } from "../event.js";
import { isPaid, moneyFields } from "../money.js";

type Attributes = Readonly<Record<string, unknown>>;

/** What an object reports, before its event gets an id. */
export interface Reported {
  readonly name: string;
  readonly attributes: Attributes;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
}

/** Objects that those of a page refer to. */
export type Included = readonly {
  readonly type: string;
  readonly id: string;
  readonly attributes: Attributes;
}[];

/** It ends with a period that is over, mostly within the hour; what changes it later is no end. */
const endsWithinMs = 24 * 60 * 60 * 1000;

export function subscriptionHistory(
  { id, attributes }: Included[number],
  included: Included,
): Reported[] {
  const { created_at: createdAt, status } = attributes;
  const hadTrial = beganWithTrial(attributes, included);
  const paidFrom = hadTrial ? firstChargedAt(id, included) : createdAt;
  const begun = { ...attributes, pause: null, ends_at: null };
  const reported: Reported[] = [
    {
      name: "subscription_created",
      attributes: dated(createdAt, { ...begun, status: hadTrial ? "on_trial" : "active" }),
      once: "begun",
    },
  ];
  if (hadTrial && paidFrom !== null) {
    reported.push({
      name: "subscription_updated",
      attributes: dated(paidFrom, { ...begun, status: "active" }),
      once: "paid",
    });
  }
  // One that is cancelled does not say any more that it never left its trial.
  const isInTrial = status === "on_trial" || (paidFrom === null && status === "cancelled");
  if (status === "expired") {
    reported.push({
      name: "subscription_expired",
      attributes: dated(endOf(attributes), attributes),
    });
  } else if (!isInTrial) {
    reported.push({ name: "subscription_updated", attributes });
  }
  return reported;
}

/** Sets the time of its item, too: the adapter takes the later of the two. */
function dated(time: unknown, attributes: Attributes): Attributes {
  const { first_subscription_item: item } = attributes;
  return {
    ...attributes,
    updated_at: time,
    ...(isObject(item) && { first_subscription_item: { ...item, updated_at: time } }),
  };
}

const orderShape = z.object({ subtotal: z.number(), setup_fee: z.number().nullish() });

/**
 * `trial_ends_at` is null once the trial is over; but then its order charged nothing for it, which
 * one that a discount made free did.
 */
function beganWithTrial({ trial_ends_at: end, order_id: order }: Attributes, included: Included) {
  if (typeof end === "string") return true;
  const found = included.find(({ type, id }) => type === "orders" && id === String(order));
  const charged = orderShape.safeParse(found?.attributes).data;
  return charged !== undefined && charged.subtotal - (charged.setup_fee ?? 0) === 0;
}

const invoiceShape = z.object({
  ...moneyFields,
  subscription_id: field.id,
  billing_reason: z.string(),
});

/** By an invoice after the initial one, as it is written; null when nothing was paid yet. */
function firstChargedAt(subscription: string, included: Included): unknown {
  const charged = included.flatMap(({ type, attributes }) => {
    const invoice =
      type === "subscription-invoices" ? invoiceShape.safeParse(attributes).data : null;
    if (invoice?.subscription_id !== subscription || !isPaid(invoice)) return [];
    // That of a trial may hold a setup fee.
    if (invoice.billing_reason === "initial") return [];
    return [{ at: invoice.created_at, text: attributes["created_at"] }];
  });
  return charged.sort((one, other) => one.at - other.at)[0]?.text ?? null;
}

/** As webhooks date it, unless something else has changed it since. */
function endOf({ updated_at: updatedAt, ends_at: endsAt }: Attributes): unknown {
  const since = Date.parse(String(updatedAt)) - Date.parse(String(endsAt));
  return since > endsWithinMs ? endsAt : updatedAt;
}
