/**
 * Makes event bodies in the shapes Paddle Billing sends, for tests, the demo and the load
 * generator. `sign` in index.ts makes the header that goes with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Paddle writes them: RFC 3339
 * with six decimals, and strings. Each maker takes what matters and has the rest of a fixture;
 * `paddleEvent` wraps an entity into an event. Money is in paddle-money.ts.
 */
import { fixture, from, type JsonObject, microseconds, orNull } from "./json.js";

export { type JsonObject, jsonBody as eventBody, microseconds as rfc3339 } from "./json.js";

export interface EventInput {
  /** evt_…, the identity of all redeliveries */
  readonly id: string;
  readonly type: string;
  readonly at: number;
  readonly data: JsonObject;
}

export function paddleEvent({ id, type, at, data }: EventInput): JsonObject {
  return {
    event_id: id,
    event_type: type,
    occurred_at: microseconds(at),
    notification_id: id.replace(/^evt_/, "ntf_"),
    data,
  };
}

const address = fixture("paddle", "address.created", "data");
const discount = fixture("paddle", "discount.created", "data");
const product = fixture("paddle", "product.created", "data");
const subscription = fixture("paddle", "subscription.activated", "data");
const item = fixture("paddle", "subscription.activated", "data", "items", 0);
const price = fixture("paddle", "subscription.activated", "data", "items", 0, "price");

export interface PriceInput {
  readonly id: string;
  /** pro_… */
  readonly product: string;
  readonly unitAmount: bigint;
  readonly currency: string;
  /** null: a one-off item */
  readonly interval?: "day" | "week" | "month" | "year" | null;
  readonly frequency?: number;
}

export function priceData(input: PriceInput): JsonObject {
  const { id, interval = "month", frequency = 1 } = input;
  return from(price, {
    id,
    product_id: input.product,
    unit_price: { amount: input.unitAmount.toString(), currency_code: input.currency },
    billing_cycle: interval === null ? null : { interval, frequency },
    trial_period: null,
  });
}

export function productData(input: { id: string; name: string; createdAt: number }): JsonObject {
  const { id, name, createdAt } = input;
  return from(product, { id, name, created_at: microseconds(createdAt) });
}

export function addressData(input: { id: string; customer: string; country: string }): JsonObject {
  const { id, customer, country } = input;
  const times = { created_at: microseconds(0), updated_at: microseconds(0) };
  return from(address, { id, customer_id: customer, country_code: country, ...times });
}

export interface DiscountInput {
  readonly id: string;
  readonly type: "percentage" | "flat" | "flat_per_seat";
  /** A percentage as decimal text, or minor units. */
  readonly amount: string;
  readonly currency?: string;
  readonly recur: boolean;
  readonly createdAt: number;
}

export function discountData({ currency, createdAt, ...given }: DiscountInput): JsonObject {
  const at = microseconds(createdAt);
  return from(discount, {
    ...given,
    currency_code: currency ?? null,
    created_at: at,
    updated_at: at,
  });
}

export interface SubscriptionItemInput {
  readonly price: JsonObject;
  readonly quantity: number;
  /** The whole product; left out where Paddle only names it. */
  readonly product?: JsonObject;
  readonly status?: "active" | "inactive" | "trialing";
  readonly recurring?: boolean;
  readonly trialEndsAt?: number;
}

export interface SubscriptionInput {
  readonly id: string;
  readonly customer: string;
  /** add_… */
  readonly address?: string;
  readonly currency: string;
  readonly status: "active" | "trialing" | "past_due" | "paused" | "canceled";
  readonly startedAt: number;
  readonly items: readonly SubscriptionItemInput[];
  /** Only in `subscription.created`. */
  readonly transaction?: string;
  readonly firstBilledAt?: number | null;
  readonly periodStartsAt?: number | null;
  readonly pausedAt?: number;
  readonly canceledAt?: number;
  readonly scheduled?: { readonly action: "cancel" | "pause" | "resume"; readonly at: number };
  readonly discount?: { readonly id: string; readonly startsAt: number; readonly endsAt?: number };
}

export function subscriptionData(input: SubscriptionInput): JsonObject {
  const { startedAt, firstBilledAt = startedAt, periodStartsAt = startedAt } = input;
  const { discount: given, scheduled } = input;
  const started = microseconds(startedAt);
  const nextBilledAt = orNull((at) => microseconds(at + 30 * dayMs), periodStartsAt);
  return from(subscription, {
    id: input.id,
    status: input.status,
    customer_id: input.customer,
    address_id: input.address ?? null,
    currency_code: input.currency,
    created_at: started,
    started_at: started,
    updated_at: started,
    first_billed_at: orNull(microseconds, firstBilledAt),
    next_billed_at: nextBilledAt,
    paused_at: orNull(microseconds, input.pausedAt),
    canceled_at: orNull(microseconds, input.canceledAt),
    transaction_id: input.transaction,
    discount: given === undefined ? null : timesOf(given),
    scheduled_change:
      scheduled === undefined
        ? null
        : {
            action: scheduled.action,
            effective_at: microseconds(scheduled.at),
            resume_at: null,
          },
    billing_cycle: input.items[0]?.price["billing_cycle"] ?? null,
    current_billing_period: orNull(
      (at) => ({ starts_at: microseconds(at), ends_at: nextBilledAt }),
      periodStartsAt,
    ),
    items: input.items.map((one) => itemData(one, startedAt)),
  });
}

function timesOf({ id, startsAt, endsAt }: NonNullable<SubscriptionInput["discount"]>): JsonObject {
  return { id, starts_at: microseconds(startsAt), ends_at: orNull(microseconds, endsAt) };
}

function itemData(given: SubscriptionItemInput, startedAt: number): JsonObject {
  const { trialEndsAt, status = "active", recurring = true } = given;
  const started = microseconds(startedAt);
  return from(item, {
    status,
    quantity: given.quantity,
    recurring,
    created_at: started,
    updated_at: started,
    trial_dates: orNull((at) => ({ starts_at: started, ends_at: microseconds(at) }), trialEndsAt),
    price: given.price,
    product: given.product,
  });
}

const dayMs = 24 * 60 * 60 * 1000;
