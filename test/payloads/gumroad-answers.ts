/** What Gumroad's API answers of sales and members; pings are in ops/payloads/gumroad.ts. */
import { type SaleInput, sellerId, time } from "../../ops/payloads/gumroad.js";
import { type JsonObject, orNull, sent } from "../../ops/payloads/json.js";

export interface RecordInput {
  readonly sale: string;
  readonly at: number;
  readonly product: string;
  readonly cents: bigint;
  readonly refunded?: boolean;
  readonly partiallyRefunded?: boolean;
  /** As people write it, in the currency of the listing: "1,234.50". */
  readonly refundable?: string;
  /** What the sale was listed in; records before August 2026 report its sign only. */
  readonly soldIn?: string;
  readonly soldInSign?: string;
  readonly recurring?: boolean;
  readonly upgrade?: boolean;
  /** The sale to the receiver of a gift. */
  readonly gift?: boolean;
  /** False: of a product sold once, also where it is paid in instalments. */
  readonly recurringBilling?: boolean;
  /** "Mar 8, 2026" */
  readonly trialEndsOn?: string;
}

/** What `GET /v2/sales/<id>` answers. */
export function saleAnswer(input: RecordInput): JsonObject {
  return { success: true, sale: recordOf(input) };
}

function recordOf(input: RecordInput): JsonObject {
  return sent({
    id: input.sale,
    created_at: time(input.at),
    price: input.cents,
    gumroad_fee: input.cents / 10n,
    product_id: input.product,
    refunded: input.refunded ?? false,
    partially_refunded: input.partiallyRefunded ?? false,
    amount_refundable_in_currency: input.refundable ?? "0",
    currency_symbol: input.soldInSign ?? "$",
    currency: input.soldIn,
    recurring_charge: input.recurring,
    is_recurring_billing: input.recurringBilling,
    free_trial_ends_on: input.trialEndsOn,
    is_upgrade_purchase: input.upgrade ?? false,
    is_gift_receiver_purchase: input.gift,
  });
}

export interface ListedInput extends RecordInput, Omit<SaleInput, "more" | "listedIn"> {
  /** The membership has ended. */
  readonly dead?: boolean;
  readonly disputed?: boolean;
  readonly disputeWon?: boolean;
  /** The giver's sale: its ping is about the receiver's. */
  readonly given?: boolean;
}

/** One of the sales that `GET /v2/sales` lists. */
export function listedSale(input: ListedInput): JsonObject {
  const { email = "buyer@example.com", purchaser, subscription } = input;
  const membership = {
    subscription_id: subscription,
    subscription_duration: input.recurrence,
    recurring_charge: input.recurring ?? false,
    dead: input.dead ?? false,
  };
  return sent({
    ...recordOf(input),
    seller_id: sellerId,
    product_name: input.productName ?? "Brush Pack",
    // Of the account, where the buyer has one.
    email: purchaser === undefined ? email : `account-of-${email}`,
    purchase_email: email,
    purchaser_id: purchaser,
    country: input.country ?? "United States",
    disputed: input.disputed ?? false,
    dispute_won: input.disputeWon ?? false,
    is_gift_sender_purchase: input.given ?? false,
    ...(subscription === undefined ? {} : membership),
  });
}

/** What `GET /v2/subscribers/<id>` answers. */
export function subscriberAnswer(
  id: string,
  ends: { readonly [by in "cancelledAt" | "endedAt" | "failedAt"]?: number },
): JsonObject {
  const [cancelled_at, ended_at] = [orNull(time, ends.cancelledAt), orNull(time, ends.endedAt)];
  const subscriber = { id, cancelled_at, ended_at, failed_at: orNull(time, ends.failedAt) };
  return { success: true, subscriber };
}

export function pathOfSubscriber(subscription: string): string {
  return `/v2/subscribers/${encodeURIComponent(subscription)}`;
}

export function pathOfSale(sale: string): string {
  return `/v2/sales/${encodeURIComponent(sale)}`;
}
