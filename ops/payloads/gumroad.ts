/**
 * Makes Gumroad's webhook calls (pings) for tests and the demo. `sign` in index.ts adds the seller.
 * Times are ms since 1970; prices are US cents (`bigint`), those of plans in the minor unit of the
 * listing.
 */

/** Whose pings these are until `sign` makes them another's. */
export const sellerId = "c2VsbGVyLWZpeHR1cmU=";

export type Recurrence = "monthly" | "quarterly" | "biannually" | "yearly" | "every_two_years";

export interface SaleInput {
  readonly sale: string;
  readonly at: number;
  readonly product: string;
  readonly productName?: string;
  readonly cents: bigint;
  /** What the product is listed in; the price is in US cents all the same. */
  readonly listedIn?: string;
  readonly email?: string;
  /** The buyer's account at Gumroad; guests have none. */
  readonly purchaser?: string;
  readonly subscription?: string;
  readonly recurrence?: Recurrence;
  readonly recurring?: boolean;
  /** English name, by the buyer's IP address. */
  readonly country?: string;
  /** Fields only some sales have: `test`, `refunded`, `disputed`, `offer_code` … */
  readonly more?: Fields;
}

/** Undefined: it is not sent. */
type Field =
  | string
  | number
  | boolean
  | undefined
  | readonly string[]
  | { readonly [key: string]: Field };
type Fields = Readonly<Record<string, Field>>;

export type SaleResource = "sale" | "refund" | "dispute" | "dispute_won";

export function salePing(resource: SaleResource, input: SaleInput): Buffer {
  return form({
    seller_id: sellerId,
    product_id: input.product,
    product_name: input.productName ?? "Brush Pack",
    email: input.email ?? "buyer@example.com",
    price: input.cents.toString(),
    gumroad_fee: (input.cents / 10n).toString(),
    currency: input.listedIn ?? "usd",
    quantity: 1,
    referrer: "direct",
    card: { visual: "**** **** **** 1881", type: "visa", bin: "", expiry_month: "" },
    sale_id: input.sale,
    sale_timestamp: time(input.at),
    purchaser_id: input.purchaser,
    subscription_id: input.subscription,
    is_recurring_charge: input.recurring === true ? true : undefined,
    ip_country: input.country ?? "United States",
    recurrence: input.recurrence,
    is_gift_receiver_purchase: false,
    refunded: false,
    resource_name: resource,
    disputed: resource === "dispute" || resource === "dispute_won",
    dispute_won: resource === "dispute_won",
    ...input.more,
  });
}

export interface MembershipInput {
  readonly subscription: string;
  readonly product: string;
  readonly productName?: string;
  readonly user?: string;
  readonly email?: string;
  readonly createdAt: number;
  readonly recurrence: Recurrence;
  /** Sales of it so far. */
  readonly sales?: readonly string[];
}

/** What happened to a membership, and the fields that report it. */
export type MembershipNews =
  | { readonly resource: "cancellation"; readonly cancelledAt: number }
  | { readonly resource: "subscription_ended"; readonly endedAt: number; readonly reason?: string }
  | { readonly resource: "subscription_restarted"; readonly restartedAt: number }
  | {
      readonly resource: "subscription_updated";
      readonly type: "upgrade" | "downgrade";
      readonly effectiveAt: number;
      readonly before: Plan;
      readonly after: Plan;
    };

export interface Plan {
  readonly tier: string;
  readonly recurrence: Recurrence;
  /** Minor unit of the listing. */
  readonly price: bigint;
}

export function membershipPing(input: MembershipInput, news: MembershipNews): Buffer {
  return form({
    subscription_id: input.subscription,
    product_id: input.product,
    product_name: input.productName ?? "Brush Club",
    user_id: input.user ?? "",
    user_email: input.email ?? "buyer@example.com",
    purchase_ids: input.sales ?? ["sale-1", "sale-2"],
    created_at: time(input.createdAt),
    recurrence: input.recurrence,
    free_trial_ends_at: "",
    resource_name: news.resource,
    ...newsFields(news),
  });
}

function newsFields(news: MembershipNews): Fields {
  const { resource } = news;
  if (resource === "cancellation") {
    return { cancelled: true, cancelled_at: time(news.cancelledAt), cancelled_by_buyer: true };
  }
  if (resource === "subscription_ended") {
    return { ended_at: time(news.endedAt), ended_reason: news.reason ?? "cancelled" };
  }
  if (resource === "subscription_restarted") return { restarted_at: time(news.restartedAt) };
  return {
    type: news.type,
    effective_as_of: time(news.effectiveAt),
    old_plan: planFields(news.before),
    new_plan: planFields(news.after),
  };
}

function planFields({ tier, recurrence, price }: Plan): Field {
  const id = `tier-${tier.toLowerCase()}`;
  return { tier: { id, name: tier }, recurrence, price_cents: price.toString(), quantity: 1 };
}

/** Objects as `name[inner]`, lists as `name[]` once for each element, as Gumroad's client does. */
function form(fields: Fields): Buffer {
  const pairs: string[] = [];
  const write = (name: string, value: Field): void => {
    if (value === undefined) return;
    if (Array.isArray(value)) for (const part of value) write(`${name}[]`, String(part));
    else if (typeof value === "object") {
      for (const [inner, part] of Object.entries(value)) write(`${name}[${inner}]`, part);
    } else pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  };
  for (const [name, value] of Object.entries(fields)) write(name, value);
  return Buffer.from(pairs.join("&"));
}

/** As Rails writes it. */
export function time(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}
