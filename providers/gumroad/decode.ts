/**
 * From a ping's resource to what it reports. The tables are the whole of Gumroad's meaning here.
 */
import type { FactBody } from "../../schemas/records/records.js";
import { textOf } from "../fields.js";
import { ignored, malformed, rejected } from "../outcomes.js";
import {
  type Decoded,
  type KeptObject,
  type Known,
  type NeededTypes,
  type NamedCustomer,
  nothingKnown,
  type Question,
} from "../provider.js";
import { keptCharge } from "./charges.js";
import {
  isOfInstalments,
  isPart,
  keptInstalments,
  type MembershipReader,
  neededOf,
  readEnd,
  readPlanChange,
  readRestart,
} from "./memberships.js";
import {
  accountOf,
  fieldsOf,
  membershipShape,
  resourceOf,
  saleShape,
  type Reported,
} from "./ping.js";
import { keptPlans } from "./plans.js";
import { isGift, questionOf, recordOf } from "./record.js";
import { readDispute, readRefund, readSale, type SaleReader } from "./sales.js";

const saleReaders: ReadonlyMap<string, SaleReader> = new Map([
  ["sale", readSale],
  ["refund", readRefund],
  ["dispute", readDispute(false)],
  ["dispute_won", readDispute(true)],
]);

/** `cancellation` announces an end; `subscription_ended` is it. */
const membershipReaders: ReadonlyMap<string, MembershipReader> = new Map([
  ["subscription_updated", readPlanChange],
  ["subscription_restarted", readRestart],
  ["subscription_ended", readEnd],
]);

/** What a merchant should subscribe to. */
export const knownTypes: readonly string[] = [...saleReaders.keys(), ...membershipReaders.keys()];

/** A sale is both payment and MRR, so none of them proves that another should have come. */
export const neededTypes: readonly NeededTypes[] = [
  { for: "payments", types: ["sale"] },
  { for: "subscriptions", types: ["subscription_updated", "subscription_restarted"] },
  { for: "ends", types: ["subscription_ended"] },
  { for: "refunds", types: ["refund"] },
  { for: "disputes", types: ["dispute", "dispute_won"] },
];

export function decode(body: unknown, known: Known = nothingKnown): Decoded {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields);
  if (resource === null) return rejected("malformed", "resource_name: missing");
  const readMembership = membershipReaders.get(resource);
  if (readMembership !== undefined) {
    const membership = membershipShape.safeParse(fields);
    if (!membership.success) return malformed(membership.error);
    // An end is never passed over: what had no worth loses none.
    const reportsPlan = resource !== "subscription_ended";
    if (reportsPlan && isOfInstalments(membership.data, known)) {
      return ignored("instalments are no membership");
    }
    return factsOf(readMembership(membership.data, known), null);
  }
  const readOfSale = saleReaders.get(resource);
  if (readOfSale === undefined) return ignored(`pings of ${resource} report no money and no MRR`);
  const sale = saleShape.safeParse(fields);
  if (!sale.success) return malformed(sale.error);
  const record = recordOf(sale.data.sale_id, known);
  if (record !== null && "outcome" in record) return record;
  const at = resource === "sale" ? sale.data.sale_timestamp : (known.firstReceivedAt ?? 0);
  return factsOf(readOfSale(sale.data, record, known), at);
}

/**
 * The buyer; of a gift its giver, of whom the ping has the e-mail only. What is said of a sale and
 * of what became of it is as of the sale.
 */
export function customers(body: unknown, known: Known): NamedCustomer[] {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields) ?? "";
  const isOfSale = saleReaders.has(resource);
  if (!isOfSale && !membershipReaders.has(resource)) return [];
  const soldAt = Date.parse(fields["sale_timestamp"] ?? "");
  const at = Number.isNaN(soldAt) ? (known.firstReceivedAt ?? 0) : soldAt;
  const named = (id: string | undefined, email: string | undefined, name?: string) => {
    const account = accountOf(id, email);
    const text = { name: textOf(name), email: textOf(email) };
    return account === null ? [] : [{ account, id: id ?? null, ...text, at }];
  };
  if (!isOfSale) return named(fields["user_id"], fields["user_email"]);
  const sale = saleShape.safeParse(fields);
  if (!sale.success) return [];
  const record = recordOf(sale.data.sale_id, known);
  if (record !== null && "outcome" in record) return [];
  if (isGift(sale.data, record)) return named(undefined, sale.data.gifter_email);
  return named(sale.data.purchaser_id, sale.data.email, fields["full_name"]);
}

/** Nothing signs a ping: with an access token every sale is looked up before it is booked. */
export function asks(body: unknown): Question[] {
  const fields = fieldsOf(body) ?? {};
  const saleId = fields["sale_id"];
  return saleReaders.has(resourceOf(fields) ?? "") && saleId ? [questionOf(saleId)] : [];
}

/** Known only once the sale is looked up: what Gumroad does not know is not kept. */
export function keepsAnswered(body: unknown, known: Known): KeptObject[] {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields) ?? "";
  if (membershipReaders.has(resource)) {
    const membership = membershipShape.safeParse(fields);
    return membership.success ? keptPlans(membership.data, known.firstReceivedAt) : [];
  }
  const sale = resource === "sale" ? saleShape.safeParse(fields).data : undefined;
  if (sale === undefined || sale.is_preorder_authorization) return [];
  const record = recordOf(sale.sale_id, known);
  if ((record !== null && "outcome" in record) || isGift(sale, record)) return [];
  const once = isPart(sale, record, known.kept) ? keptInstalments(sale) : [];
  // The kind of charge comes first, so that it is there when the charge is found.
  return [...once, ...keptCharge(sale, record, known.kept)];
}

export function needs(body: unknown): string[] {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields) ?? "";
  const subscription = fields["subscription_id"];
  if (subscription === undefined || subscription === "") return [];
  const isRenewal = resource === "sale" && fields["is_recurring_charge"] === "true";
  return isRenewal || membershipReaders.has(resource) ? neededOf(subscription) : [];
}

/** @param at when it happened, ms since 1970; null: when the state it reports begins */
function factsOf(reported: Reported, at: number | null): Decoded {
  if ("outcome" in reported) return reported;
  if (reported.length === 0) return ignored("nothing was paid");
  return {
    outcome: "facts",
    facts: reported.map((body) => ({ happenedAt: at ?? beginningOf(body), body })),
  };
}

function beginningOf(body: FactBody): number {
  return "Subscription" in body ? (body.Subscription.steps[0]?.at ?? 0) : 0;
}
