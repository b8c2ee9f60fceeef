/**
 * Makes event bodies in the shapes Stripe sends, in both API layouts: for tests, the demo and the
 * load generator. `sign` in index.ts makes the header that goes with them.
 *
 * Times are ms since 1970 and sent as whole seconds; amounts are Stripe's minor units (`bigint`).
 * Each maker of an object takes what matters and fills in the rest as Stripe does; `stripeEvent`
 * wraps an object into an event.
 */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The last version of the old layout in wide use, and one since 2025-03-31. */
export const apiVersions = ["2024-06-20", "2025-09-30.clover"] as const;
export type ApiVersion = (typeof apiVersions)[number];
/** Of what does not say. */
const defaultVersion: ApiVersion = "2025-09-30.clover";

export interface EventInput {
  /** evt_…, the identity of all redeliveries */
  readonly id: string;
  readonly type: string;
  readonly at: number;
  readonly object: JsonObject;
  readonly version?: ApiVersion;
  /** What an `…updated` event says the changed fields were before. */
  readonly previous?: JsonObject;
  readonly livemode?: boolean;
  /** acct_… of a connected account */
  readonly account?: string;
}

export function stripeEvent(input: EventInput): JsonObject {
  const { id, type, at, object, version = defaultVersion } = input;
  const { previous, livemode = true, account } = input;
  return {
    id,
    object: "event",
    ...(account === undefined ? {} : { account }),
    api_version: version,
    created: seconds(at),
    data: {
      object: "livemode" in object ? { ...object, livemode } : object,
      ...(previous === undefined ? {} : { previous_attributes: previous }),
    },
    livemode,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}

/** The bytes Stripe posts: its own bodies are indented by two spaces. */
export function eventBody(event: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(event, null, 2));
}

export function productObject(input: { id: string; name: string; createdAt: number }): JsonObject {
  return {
    id: input.id,
    object: "product",
    active: true,
    created: seconds(input.createdAt),
    default_price: null,
    description: null,
    images: [],
    livemode: true,
    metadata: {},
    name: input.name,
    tax_code: null,
    type: "service",
    updated: seconds(input.createdAt),
  };
}

export interface PriceInput {
  readonly id: string;
  /** prod_…, or the whole product where the field is expanded */
  readonly product: string | JsonObject;
  readonly currency: string;
  /** null when tiered */
  readonly unitAmount: bigint | null;
  /** Fractions of a minor unit, as decimal text; then `unit_amount` is null. */
  readonly unitAmountDecimal?: string;
  readonly interval?: "day" | "week" | "month" | "year";
  readonly intervalCount?: number;
  readonly usageType?: "licensed" | "metered";
  readonly transformQuantity?: { readonly divideBy: number; readonly round: "up" | "down" };
  /** Sent only where the field is expanded. */
  readonly tiers?: JsonObject[];
  readonly tiersMode?: "graduated" | "volume";
}

export function priceObject(input: PriceInput): JsonObject {
  const transform = input.transformQuantity;
  return {
    id: input.id,
    object: "price",
    active: true,
    billing_scheme: input.tiersMode === undefined ? "per_unit" : "tiered",
    created: 1_577_836_800,
    currency: input.currency.toLowerCase(),
    livemode: true,
    lookup_key: null,
    metadata: {},
    nickname: null,
    product: input.product,
    recurring: {
      interval: input.interval ?? "month",
      interval_count: input.intervalCount ?? 1,
      trial_period_days: null,
      usage_type: input.usageType ?? "licensed",
    },
    tax_behavior: "unspecified",
    ...(input.tiers === undefined ? {} : { tiers: input.tiers }),
    tiers_mode: input.tiersMode ?? null,
    transform_quantity:
      transform === undefined ? null : { divide_by: transform.divideBy, round: transform.round },
    type: "recurring",
    unit_amount:
      input.unitAmountDecimal !== undefined || input.unitAmount === null
        ? null
        : units(input.unitAmount),
    unit_amount_decimal: input.unitAmountDecimal ?? input.unitAmount?.toString() ?? null,
  };
}

export interface DiscountInput {
  readonly id: string;
  readonly percentOff?: number;
  readonly amountOff?: bigint;
  /** Of `amountOff`. */
  readonly currency?: string;
  readonly duration: "once" | "repeating" | "forever";
  readonly startAt: number;
  readonly endAt?: number | null;
  readonly version?: ApiVersion;
}

/** Expanded; since 2025-09-30 the coupon hangs under `source`. */
export function discountObject(input: DiscountInput): JsonObject {
  const coupon = {
    id: `coupon_${input.id}`,
    object: "coupon",
    amount_off: input.amountOff === undefined ? null : units(input.amountOff),
    created: seconds(input.startAt),
    currency: input.currency?.toLowerCase() ?? null,
    duration: input.duration,
    duration_in_months: input.duration === "repeating" ? 3 : null,
    livemode: true,
    metadata: {},
    name: null,
    percent_off: input.percentOff ?? null,
    valid: true,
  };
  return {
    id: input.id,
    object: "discount",
    checkout_session: null,
    ...(isNewLayout(input.version) ? { source: { type: "coupon", coupon } } : { coupon }),
    end: input.endAt === undefined || input.endAt === null ? null : seconds(input.endAt),
    promotion_code: null,
    start: seconds(input.startAt),
  };
}

interface SubscriptionItemInput {
  readonly id: string;
  readonly price: JsonObject;
  /** Absent for metered prices. */
  readonly quantity?: number;
  readonly discounts?: (string | JsonObject)[];
}

export interface SubscriptionInput {
  readonly id: string;
  readonly customer: string;
  readonly currency: string;
  readonly status:
    | "active"
    | "past_due"
    | "trialing"
    | "incomplete"
    | "incomplete_expired"
    | "unpaid"
    | "paused"
    | "canceled";
  readonly createdAt: number;
  readonly items: readonly SubscriptionItemInput[];
  readonly version?: ApiVersion;
  readonly discounts?: (string | JsonObject)[];
  readonly trialEndAt?: number | null;
  readonly endedAt?: number | null;
  readonly cancelAtPeriodEnd?: boolean;
  readonly cancelAt?: number;
  readonly collectionPaused?: boolean;
}

export function subscriptionObject(input: SubscriptionInput): JsonObject {
  const created = seconds(input.createdAt);
  const period = { current_period_end: created + 2_592_000, current_period_start: created };
  const discounts = input.discounts ?? [];
  const trialEnd = input.trialEndAt ?? null;
  return {
    id: input.id,
    object: "subscription",
    billing_cycle_anchor: created,
    cancel_at: input.cancelAt === undefined ? null : seconds(input.cancelAt),
    cancel_at_period_end: input.cancelAtPeriodEnd ?? false,
    canceled_at: null,
    collection_method: "charge_automatically",
    created,
    currency: input.currency.toLowerCase(),
    ...(isNewLayout(input.version) ? {} : { ...period, discount: discounts[0] ?? null }),
    customer: input.customer,
    default_payment_method: null,
    discounts,
    ended_at: input.endedAt === undefined || input.endedAt === null ? null : seconds(input.endedAt),
    items: {
      object: "list",
      data: input.items.map((item) => ({
        id: item.id,
        object: "subscription_item",
        created,
        ...(isNewLayout(input.version) ? period : {}),
        discounts: item.discounts ?? [],
        metadata: {},
        price: item.price,
        ...(item.quantity === undefined ? {} : { quantity: item.quantity }),
        subscription: input.id,
        tax_rates: [],
      })),
      has_more: false,
      total_count: input.items.length,
      url: `/v1/subscription_items?subscription=${input.id}`,
    },
    latest_invoice: null,
    livemode: true,
    metadata: {},
    pause_collection: input.collectionPaused ? { behavior: "void", resumes_at: null } : null,
    schedule: null,
    start_date: created,
    status: input.status,
    trial_end: trialEnd === null ? null : seconds(trialEnd),
    trial_start: trialEnd === null ? null : created,
  };
}

/** Everything since 2025-03-31 (basil). */
export function isNewLayout(version: ApiVersion = defaultVersion): boolean {
  return version >= "2025-03-31";
}

export function seconds(atMs: number): number {
  return Math.floor(atMs / 1000);
}

/** A JSON number of an amount; our own mistake when it does not hold it. */
export function units(amount: bigint): number {
  const value = Number(amount);
  if (!Number.isSafeInteger(value)) throw new RangeError(`amount ${amount} is no JSON integer`);
  return value;
}
