/**
 * Makes event bodies in the shapes Stripe sends, in both API layouts: for tests, the demo and the
 * load generator. `sign` in index.ts makes the header that goes with them.
 *
 * Times are ms since 1970 and sent as whole seconds; amounts are Stripe's minor units (`bigint`).
 * Each maker of an object takes what matters and fills in the rest as Stripe does; `stripeEvent`
 * wraps an object into an event.
 */
import { fixture, from, type JsonObject, orNull, seconds, sent } from "./json.js";

export type { Json, JsonObject } from "./json.js";

const subscribed = "customer.subscription.created.active.new";
const items = ["data", "object", "items", "data", 0] as const;
const subscription = fixture("stripe", subscribed, "data", "object");
const subscriptionItem = fixture("stripe", subscribed, ...items);
const price = fixture("stripe", subscribed, ...items, "price");
const named = "customer.subscription.updated.expanded-product.new";
const product = fixture("stripe", named, ...items, "price", "product");

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
  const { object, livemode = true, account } = input;
  return sent({
    id: input.id,
    object: "event",
    account,
    api_version: input.version ?? defaultVersion,
    created: seconds(input.at),
    data: {
      object: "livemode" in object ? { ...object, livemode } : object,
      previous_attributes: input.previous,
    },
    livemode,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: input.type,
  });
}

/** The bytes Stripe posts: its own bodies are indented by two spaces. */
export function eventBody(event: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(event, null, 2));
}

export function productObject(given: { id: string; name: string; createdAt: number }): JsonObject {
  const [{ id, name }, created] = [given, seconds(given.createdAt)];
  return from(product, { id, name, created, updated: created, livemode: true });
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
  const { unitAmount, unitAmountDecimal, tiersMode, transformQuantity: transform } = input;
  return from(price, {
    id: input.id,
    billing_scheme: tiersMode === undefined ? "per_unit" : "tiered",
    created: 1_577_836_800,
    currency: input.currency.toLowerCase(),
    livemode: true,
    product: input.product,
    recurring: {
      interval: input.interval ?? "month",
      interval_count: input.intervalCount ?? 1,
      trial_period_days: null,
      usage_type: input.usageType ?? "licensed",
    },
    tiers: input.tiers,
    tiers_mode: tiersMode ?? null,
    transform_quantity: transform
      ? { divide_by: transform.divideBy, round: transform.round }
      : null,
    unit_amount: unitAmountDecimal === undefined ? unitAmount : null,
    unit_amount_decimal: unitAmountDecimal ?? unitAmount?.toString() ?? null,
  });
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
  const [start, end] = [seconds(input.startAt), orNull(seconds, input.endAt)];
  const coupon = {
    id: `coupon_${input.id}`,
    object: "coupon",
    amount_off: input.amountOff ?? null,
    created: start,
    currency: input.currency?.toLowerCase() ?? null,
    duration: input.duration,
    duration_in_months: input.duration === "repeating" ? 3 : null,
    livemode: true,
    metadata: {},
    name: null,
    percent_off: input.percentOff ?? null,
    valid: true,
  };
  const where = isNewLayout(input.version) ? { source: { type: "coupon", coupon } } : { coupon };
  const discount = { id: input.id, object: "discount", checkout_session: null, ...where };
  return sent({ ...discount, end, promotion_code: null, start });
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
  const { id, discounts = [], trialEndAt = null } = input;
  const created = seconds(input.createdAt);
  const period = { current_period_end: created + 2_592_000, current_period_start: created };
  const isNew = isNewLayout(input.version);
  const data = input.items.map(({ discounts: own = [], ...item }) =>
    from(subscriptionItem, {
      current_period_end: undefined,
      current_period_start: undefined,
      ...(isNew ? period : {}),
      id: item.id,
      created,
      discounts: own,
      price: item.price,
      quantity: item.quantity,
      subscription: id,
    }),
  );
  return from(subscription, {
    id,
    billing_cycle_anchor: created,
    cancel_at: orNull(seconds, input.cancelAt),
    cancel_at_period_end: input.cancelAtPeriodEnd ?? false,
    created,
    currency: input.currency.toLowerCase(),
    ...(isNew ? {} : { ...period, discount: discounts[0] ?? null }),
    customer: input.customer,
    discounts,
    ended_at: orNull(seconds, input.endedAt),
    items: {
      object: "list",
      data,
      has_more: false,
      total_count: data.length,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    latest_invoice: null,
    livemode: true,
    pause_collection: input.collectionPaused ? { behavior: "void", resumes_at: null } : null,
    start_date: created,
    status: input.status,
    trial_end: orNull(seconds, trialEndAt),
    trial_start: trialEndAt === null ? null : created,
  });
}

/** Everything since 2025-03-31 (basil). */
export function isNewLayout(version: ApiVersion = defaultVersion): boolean {
  return version >= "2025-03-31";
}
