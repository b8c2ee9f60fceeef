/** The rows of a subscription table as the snapshots Stripe sends. */
import { z } from "zod";
import {
  type ApiVersion,
  discountObject,
  type JsonObject,
  priceObject,
  type SubscriptionInput,
  subscriptionObject,
} from "../../../ops/payloads/stripe.js";
import { must } from "../readers/json.js";
import type { Script } from "../stories/story.js";
import { cell, minorUnits, momentOf, type Row } from "./table.js";

const statuses = z.enum([
  "active",
  "past_due",
  "trialing",
  "incomplete",
  "unpaid",
  "paused",
  "canceled",
]);
const intervals = z.enum(["day", "week", "month", "year"]);

/**
 * Columns: `at`; `sub`, when there are several; `event` (of `customer.subscription.`; empty:
 * nothing is sent); `status`, when not always active; `items` ("10.00/month x2, metered
 * 5.00/year"); `also` (what `readAlso` knows). All subscriptions belong to one customer.
 */
export function emitSubscriptions(script: Script, rows: readonly Row[], version: ApiVersion): void {
  const created = new Map<string, number>();
  for (const row of rows) {
    const event = cell(row, "event");
    const at = momentOf(cell(row, "at"));
    const id = `sub_${row["sub"] ?? "a"}`;
    if (event === "") continue;
    const createdAt = created.get(id) ?? at;
    created.set(id, createdAt);
    const also = readAlso(script, cell(row, "also"), at, version);
    const object = subscriptionObject({
      id,
      customer: "cus_1",
      currency: also.currency,
      status: statuses.parse(row["status"] ?? "active"),
      createdAt,
      version,
      items: itemsOf(cell(row, "items"), also),
      discounts: also.discounts,
      trialEndAt: also.trialEndAt,
      cancelAtPeriodEnd: also.cancelAtPeriodEnd,
      collectionPaused: also.collectionPaused,
      endedAt: event === "deleted" ? at : null,
    });
    const previous = also.was === null ? {} : { previous: { status: also.was } };
    const type = `customer.subscription.${event}`;
    script.stripe({ type, at, object, version, ...previous });
  }
}

interface Also {
  readonly currency: string;
  readonly discounts: JsonObject[];
  readonly itemDiscounts: JsonObject[];
  readonly trialEndAt: number | null;
  readonly was: string | null;
  readonly collectionPaused: boolean;
  readonly cancelAtPeriodEnd: boolean;
}

function readAlso(script: Script, text: string, at: number, version: ApiVersion): Also {
  const words = text.split(",").map((word) => word.trim());
  const after = (start: string) =>
    words.find((word) => word.startsWith(start))?.slice(start.length) ?? null;
  const trialEnd = after("trial to ");
  const currency = words.find((word) => /^[A-Z]{3}$/.test(word)) ?? "USD";
  const discountOf = (word: string) => {
    const shape = /-(\d+(?:\.\d+)?)(%?)(?: to (.+)| (once))?$/;
    const [, worth = "", percent, to, once] = must(shape.exec(word), `a discount: ${word}`);
    return discountObject({
      id: script.id("di"),
      ...(percent === "%" ? { percentOff: Number(worth) } : { amountOff: minorUnits(worth) }),
      currency,
      duration: once === undefined ? (to === undefined ? "forever" : "repeating") : "once",
      startAt: at,
      endAt: to === undefined ? null : momentOf(to),
      version,
    });
  };
  return {
    currency,
    discounts: words.filter((word) => word.startsWith("-")).map(discountOf),
    itemDiscounts: words.filter((word) => word.startsWith("item -")).map(discountOf),
    trialEndAt: trialEnd === null ? null : momentOf(trialEnd),
    was: after("was "),
    collectionPaused: words.includes("collection paused"),
    cancelAtPeriodEnd: words.includes("ends at period end"),
  };
}

function itemsOf(text: string, also: Also): SubscriptionInput["items"] {
  return text.split(",").map((word, index) => {
    const shape = /^(metered )?([\d.]+)\/(?:(\d+) )?(day|week|month|year)s?(?: x(\d+))?$/;
    const match = must(shape.exec(word.trim()), `an item: ${word}`);
    const [, metered, amount = "", count = "1", interval = "", quantity = "1"] = match;
    const price = priceObject({
      id: `price_${index}`,
      product: `prod_${index}`,
      currency: also.currency,
      unitAmount: minorUnits(amount),
      interval: intervals.parse(interval),
      intervalCount: Number(count),
      usageType: metered === undefined ? "licensed" : "metered",
    });
    return {
      id: `si_${index}`,
      price,
      ...(metered === undefined ? { quantity: Number(quantity) } : {}),
      discounts: index === 0 ? also.itemDiscounts : [],
    };
  });
}
