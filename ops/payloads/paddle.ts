/**
 * Makes event bodies in the shapes Paddle Billing sends, for tests, the demo and the load
 * generator. `sign` in index.ts makes the header that goes with them.
 *
 * Times are ms since 1970, amounts minor units (`bigint`), sent as Paddle writes them: RFC 3339
 * with six decimals, and strings. Each maker takes what matters and fills in the rest;
 * `paddleEvent` wraps an entity into an event. Money is in paddle-money.ts.
 */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface EventInput {
  /** evt_…, the identity of all redeliveries */
  readonly id: string;
  readonly type: string;
  readonly at: number;
  readonly data: JsonObject;
  /** ntf_…, new when a person sends it again */
  readonly notification?: string;
}

export function paddleEvent({ id, type, at, data, notification }: EventInput): JsonObject {
  return {
    event_id: id,
    event_type: type,
    occurred_at: rfc3339(at),
    notification_id: notification ?? id.replace(/^evt_/, "ntf_"),
    data,
  };
}

/** The bytes Paddle posts: on one line. */
export function eventBody(event: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(event));
}

export interface PriceInput {
  readonly id: string;
  /** pro_… */
  readonly product: string;
  readonly unitAmount: bigint;
  readonly currency: string;
  /** null: a one-off item */
  readonly interval?: "day" | "week" | "month" | "year" | null;
  readonly frequency?: number;
  readonly trialDays?: number;
}

export function priceData(input: PriceInput): JsonObject {
  const { interval = "month", frequency = 1, trialDays } = input;
  return {
    id: input.id,
    name: null,
    description: "as listed",
    product_id: input.product,
    type: "standard",
    status: "active",
    tax_mode: "account_setting",
    unit_price: { amount: input.unitAmount.toString(), currency_code: input.currency },
    unit_price_overrides: [],
    quantity: { minimum: 1, maximum: 100 },
    billing_cycle: interval === null ? null : { interval, frequency },
    trial_period: trialDays === undefined ? null : { interval: "day", frequency: trialDays },
    custom_data: null,
  };
}

export function productData(input: { id: string; name: string; createdAt: number }): JsonObject {
  return {
    id: input.id,
    name: input.name,
    type: "standard",
    status: "active",
    description: null,
    tax_category: "standard",
    image_url: null,
    custom_data: null,
    created_at: rfc3339(input.createdAt),
  };
}

export function addressData(input: { id: string; customer: string; country: string }): JsonObject {
  return {
    id: input.id,
    customer_id: input.customer,
    description: null,
    first_line: null,
    second_line: null,
    city: null,
    postal_code: null,
    region: null,
    country_code: input.country,
    custom_data: null,
    status: "active",
    created_at: rfc3339(0),
    updated_at: rfc3339(0),
    import_meta: null,
  };
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

export function discountData(input: DiscountInput): JsonObject {
  return {
    id: input.id,
    status: "active",
    description: "for friends of the house",
    enabled_for_checkout: true,
    code: null,
    type: input.type,
    amount: input.amount,
    currency_code: input.currency ?? null,
    recur: input.recur,
    maximum_recurring_intervals: null,
    usage_limit: null,
    restrict_to: null,
    expires_at: null,
    custom_data: null,
    times_used: 0,
    created_at: rfc3339(input.createdAt),
    updated_at: rfc3339(input.createdAt),
  };
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
  const started = rfc3339(input.startedAt);
  const periodStart = input.periodStartsAt === undefined ? input.startedAt : input.periodStartsAt;
  const nextBilledAt = periodStart === null ? null : rfc3339(periodStart + 30 * dayMs);
  const { discount, scheduled } = input;
  return {
    id: input.id,
    status: input.status,
    customer_id: input.customer,
    address_id: input.address ?? null,
    business_id: null,
    currency_code: input.currency,
    collection_mode: "automatic",
    billing_details: null,
    created_at: started,
    started_at: started,
    updated_at: started,
    first_billed_at: timeOrNull(
      input.firstBilledAt === undefined ? input.startedAt : input.firstBilledAt,
    ),
    next_billed_at: nextBilledAt,
    paused_at: timeOrNull(input.pausedAt),
    canceled_at: timeOrNull(input.canceledAt),
    ...(input.transaction === undefined ? {} : { transaction_id: input.transaction }),
    discount:
      discount === undefined
        ? null
        : {
            id: discount.id,
            starts_at: rfc3339(discount.startsAt),
            ends_at: timeOrNull(discount.endsAt),
          },
    scheduled_change:
      scheduled === undefined
        ? null
        : { action: scheduled.action, effective_at: rfc3339(scheduled.at), resume_at: null },
    billing_cycle: input.items[0]?.price["billing_cycle"] ?? null,
    current_billing_period:
      periodStart === null ? null : { starts_at: rfc3339(periodStart), ends_at: nextBilledAt },
    items: input.items.map((item) => itemData(item, started, input.startedAt)),
    custom_data: null,
  };
}

function itemData(item: SubscriptionItemInput, started: string, startedAt: number): JsonObject {
  const { trialEndsAt } = item;
  return {
    status: item.status ?? "active",
    quantity: item.quantity,
    recurring: item.recurring ?? true,
    created_at: started,
    updated_at: started,
    next_billed_at: null,
    previously_billed_at: null,
    trial_dates:
      trialEndsAt === undefined
        ? null
        : { starts_at: rfc3339(startedAt), ends_at: rfc3339(trialEndsAt) },
    price: item.price,
    ...(item.product === undefined ? {} : { product: item.product }),
  };
}

const dayMs = 24 * 60 * 60 * 1000;

/** Six decimals, as Paddle writes most times. */
export function rfc3339(atMs: number): string {
  return new Date(atMs).toISOString().replace("Z", "000Z");
}

function timeOrNull(atMs: number | null | undefined): string | null {
  return atMs === null || atMs === undefined ? null : rfc3339(atMs);
}
