/** What happened to an account, as a person would say it. */
import type { TimelineItem } from "../../../api/accounts/schema.js";
import { countryName, namesList } from "../../format/names.js";
import { money, signedMoney } from "../../format/numbers.js";

export function sentenceOf(item: TimelineItem): string {
  const { type, detail, amount, currency } = item;
  const paid = amount === null || currency === null ? "" : money(Math.abs(amount), currency);
  switch (type) {
    case "movement":
      return movement(item);
    case "change":
      return changes[detail] ?? "Subscription ended";
    case "payment":
      return `Paid ${paid}${forProduct(item)}${later[detail] ?? ""}`;
    case "refund":
      // A refund that failed gives the money back to us.
      return amount !== null && amount > 0
        ? `Refund of ${paid} taken back`
        : `Refunded ${paid}${forProduct(item)}`;
    case "dispute":
      return `Disputed ${paid}${forProduct(item)}`;
    case "dispute_won":
      return `Dispute won, ${paid} came back`;
    case "country":
      return `Country became known: ${countryName(detail)}`;
    default:
      return type satisfies never;
  }
}

const changes: Readonly<Record<string, string>> = {
  started: "Subscribed, with nothing to pay yet",
  expired: "Subscription expired",
  transferred: "Subscription moved to another account",
};

/** What became of a payment is a line of its own; the payment only hints at it. */
const later: Readonly<Record<string, string>> = {
  refunded: " (refunded later)",
  disputed: " (disputed later)",
};

const unattributed = "Unattributed";

function forProduct({ product_name: name }: TimelineItem): string {
  return name === null || name === unattributed ? "" : ` for ${name}`;
}

function movement({ detail, change, amount, currency, parts }: TimelineItem): string {
  if (amount === null || currency === null) return "MRR changed";
  const { gained, lost, all } = productsOf(parts);
  const price = `at ${money(amount, currency)} a month`;
  const by = `, ${signedMoney(amount, currency)} a month`;
  switch (detail) {
    case "new":
      return `Started ${gained || all} ${price}`;
    case "reactivation":
      return `Came back to ${gained || all} ${price}`;
    case "churn":
      return ended(change, lost || all) + by;
    case "expansion":
      if (lost !== "" && gained !== "") return `Upgraded from ${lost} to ${gained}${by}`;
      return `${change === "started" ? "Added" : "Expanded"} ${gained || all}${by}`;
    case "contraction":
      if (lost !== "" && gained !== "") return `Downgraded from ${lost} to ${gained}${by}`;
      return (isOver(change) ? ended(change, lost || all) : `Reduced ${lost || all}`) + by;
    case "switch":
      return lost !== "" && gained !== ""
        ? `Switched from ${lost} to ${gained} at the same price`
        : `Switched within ${all} at the same price`;
    default:
      return `MRR changed${by}`;
  }
}

function isOver(change: TimelineItem["change"]): boolean {
  return change === "ended" || change === "expired" || change === "transferred";
}

function ended(change: TimelineItem["change"], product: string): string {
  if (change === "ended") return `Cancelled ${product}`;
  if (change === "expired") return `${product} expired`;
  if (change === "transferred") return `${product} moved to another account`;
  // A state that is worth nothing, without an end.
  return change === "changed" ? `Paused ${product}, or left it unpaid` : `${product} ended`;
}

/** Half of what any currency can show: sums of rounded amounts are not exact. */
const nothingMax = 0.000_05;

/** Names of the products that gained and lost, whatever SKUs they have. */
function productsOf(parts: TimelineItem["parts"]) {
  const sums = new Map<string, number>();
  for (const { product_name: name, mrr } of parts) sums.set(name, (sums.get(name) ?? 0) + mrr);
  const named = (isWanted: (sum: number) => boolean): string =>
    namesList.format([...sums].filter(([, sum]) => isWanted(sum)).map(([name]) => name));
  return {
    gained: named((sum) => sum > nothingMax),
    lost: named((sum) => sum < -nothingMax),
    all: named(() => true),
  };
}
