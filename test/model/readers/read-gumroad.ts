/**
 * The model's own reading of Gumroad's pings, from docs/providers and `definitions.md`, as
 * they are believed without an access token. MRR starts with the first charge that is known.
 */
import type { BareFact } from "../facts.js";
import { fraction } from "../fraction.js";
import { must, text, timeIn } from "./json.js";

const months: Readonly<Record<string, bigint>> = {
  monthly: 1n,
  quarterly: 3n,
  biannually: 6n,
  yearly: 12n,
  every_two_years: 24n,
};
const countries: Readonly<Record<string, string>> = {
  Germany: "DE",
  Japan: "JP",
  "United States": "US",
};

export function readGumroad(ping: unknown, receivedAt: number): readonly BareFact[] {
  switch (text(ping, "resource_name")) {
    case "sale":
      return readSale(ping);
    case "refund":
      // How much a part was, only Gumroad's API reports.
      return [{ kind: "refund_total", ...moneyOf(ping), at: receivedAt }];
    case "dispute":
      return [{ ...disputeOf(ping), withdrawnAt: receivedAt, returnedAt: null }];
    case "dispute_won":
      return [{ ...disputeOf(ping), withdrawnAt: null, returnedAt: receivedAt }];
    case "subscription_ended":
      return [changeOf(ping, timeIn(ping, "ended_at"), "ended", 0n)];
    case null:
    default:
      return [];
  }
}

/** When the provider said it: Gumroad dates neither refunds nor disputes. */
export function gumroadReportedAt(ping: unknown, receivedAt: number): number {
  const isDated = !["refund", "dispute", "dispute_won"].includes(text(ping, "resource_name") ?? "");
  if (!isDated) return receivedAt;
  const reported =
    text(ping, "ended_at") ?? text(ping, "cancelled_at") ?? text(ping, "sale_timestamp");
  return Date.parse(must(reported, "a time"));
}

function readSale(ping: unknown): BareFact[] {
  const isGift = text(ping, "is_gift_receiver_purchase") === "true";
  const amount = BigInt(must(text(ping, isGift ? "gift_price" : "price"), "a price"));
  if (amount === 0n || text(ping, "is_preorder_authorization") === "true") return [];
  const at = timeIn(ping, "sale_timestamp");
  // A gift is charged once.
  const subscription = isGift ? null : text(ping, "subscription_id");
  const country = countries[text(ping, "ip_country") ?? ""] ?? null;
  const sale: BareFact = {
    kind: "sale",
    payment: must(text(ping, "sale_id"), "a sale"),
    at,
    amount,
    currency: "USD",
    account: accountOf(ping),
    country,
    type: subscription === null ? "one_time" : "subscription",
    lines: [{ sku: must(text(ping, "product_id"), "a product"), weight: 1n }],
    fee: BigInt(must(text(ping, "gumroad_fee"), "a fee")),
  };
  if (subscription === null) return [sale];
  // Every charge of a story has the price of the first: the earliest that is known starts it.
  const isRenewal = text(ping, "is_recurring_charge") === "true";
  return [sale, changeOf(ping, at, isRenewal ? "changed" : "started", amount, country)];
}

function moneyOf(ping: unknown) {
  const amount = BigInt(must(text(ping, "price"), "a price"));
  return { payment: must(text(ping, "sale_id"), "a sale"), amount, currency: "USD" };
}

function disputeOf(ping: unknown) {
  const money = moneyOf(ping);
  return { kind: "dispute", dispute: money.payment, ...money, certainty: 1 } as const;
}

function changeOf(
  ping: unknown,
  at: number,
  phase: "started" | "changed" | "ended",
  cents: bigint,
  country: string | null = null,
): BareFact {
  const recurrence = must(months[text(ping, "recurrence") ?? ""], "a recurrence");
  const sku = must(text(ping, "product_id"), "a product");
  return {
    kind: "change",
    subscription: must(text(ping, "subscription_id"), "a membership"),
    account: accountOf(ping),
    phase,
    country,
    currency: cents === 0n ? "" : "USD",
    steps: [
      {
        at,
        items: cents === 0n ? [] : [{ item: "plan", sku, monthly: fraction(cents, recurrence) }],
      },
    ],
  };
}

function accountOf(ping: unknown): string {
  const email = text(ping, "email") ?? text(ping, "user_email") ?? "";
  const user = text(ping, "purchaser_id") ?? (text(ping, "user_id") || null);
  return user ?? email.trim().toLowerCase();
}
