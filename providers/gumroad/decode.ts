/**
 * From a ping's resource to what it reports. The tables are the whole of Gumroad's meaning here.
 */
import type { FactBody } from "../../schemas/records/records.js";
import { textOf } from "../fields.js";
import { ignored, isUnreported, malformed, rejected, type Unreported } from "../outcomes.js";
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
import { isOfHistory, withListed } from "./listed.js";
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
  type Fields,
  fieldsOf,
  membershipShape,
  resourceOf,
  saleShape,
  type Reported,
} from "./ping.js";
import { keptNotice, noticeId } from "./notices.js";
import { keptPlans } from "./plans.js";
import { isGift, questionOf, recordOf } from "./record.js";
import { readDispute, readRefund, readSale, type SaleReader } from "./sales.js";
import { endOf, endQuestion } from "./subscribers.js";

const saleReaders: ReadonlyMap<string, SaleReader> = new Map([
  ["sale", readSale],
  ["refund", readRefund],
  ["dispute", readDispute(false)],
  ["dispute_won", readDispute(true)],
]);

const endResource = "subscription_ended";

/** `cancellation` announces an end; `subscription_ended` is it. */
const membershipReaders: ReadonlyMap<string, MembershipReader> = new Map([
  ["subscription_updated", readPlanChange],
  ["subscription_restarted", readRestart],
  [endResource, readEnd],
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

export function decode(body: unknown, given: Known = nothingKnown): Decoded {
  const known = withListed(body, given);
  const fields = wholeOf(fieldsOf(body) ?? {}, known);
  if (isUnreported(fields)) return fields;
  const resource = resourceOf(fields);
  if (resource === null) return rejected("malformed", "resource_name: missing");
  const readMembership = membershipReaders.get(resource);
  if (readMembership !== undefined) {
    const membership = membershipShape.safeParse(fields);
    if (!membership.success) return malformed(membership.error);
    // An end is never passed over: what had no worth loses none.
    const reportsPlan = resource !== endResource;
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
export function customers(body: unknown, given: Known): NamedCustomer[] {
  const known = withListed(body, given);
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

/**
 * Nothing signs a ping: with an access token every sale is looked up before it is booked. The sales
 * of a backfill are whole already; only when a membership ended is asked.
 */
export function asks(body: unknown, known: Known): Question[] {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields) ?? "";
  const { sale_id: sale, subscription_id: subscription } = fields;
  if (resource === endResource) {
    return isOfHistory(known) && subscription ? [endQuestion(subscription)] : [];
  }
  if (!saleReaders.has(resource) || !sale) return [];
  const question = questionOf(sale);
  return withListed(body, known).answers.has(question.path) ? [] : [question];
}

/** Known only once the sale is looked up: what Gumroad does not know is not kept. */
export function keepsAnswered(body: unknown, given: Known): KeptObject[] {
  const known = withListed(body, given);
  const fields = wholeOf(fieldsOf(body) ?? {}, known);
  if (isUnreported(fields)) return [];
  const resource = resourceOf(fields) ?? "";
  if (membershipReaders.has(resource)) {
    const membership = membershipShape.safeParse(fields);
    return membership.success ? keptPlans(membership.data, known.firstReceivedAt) : [];
  }
  const sale = saleReaders.has(resource) ? saleShape.safeParse(fields).data : undefined;
  if (sale === undefined || sale.is_preorder_authorization) return [];
  const record = recordOf(sale.sale_id, known);
  if (record !== null && "outcome" in record) return [];
  if (resource !== "sale") return isOfHistory(known) ? [] : keptNotice(resource, sale, record);
  if (isGift(sale, record)) return [];
  const once = isPart(sale, record, known.kept) ? keptInstalments(sale) : [];
  // The kind of charge comes first, so that it is there when the charge is found.
  return [...once, ...keptCharge(sale, record, known.kept)];
}

export function needs(body: unknown): string[] {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields) ?? "";
  const { subscription_id: subscription, sale_id: sale } = fields;
  if (saleReaders.has(resource) && resource !== "sale")
    return sale ? [noticeId(resource, sale)] : [];
  if (subscription === undefined || subscription === "") return [];
  const isRenewal = resource === "sale" && fields["is_recurring_charge"] === "true";
  return isRenewal || membershipReaders.has(resource) ? neededOf(subscription) : [];
}

/** A ping of an end says when it was. */
function wholeOf(fields: Fields, known: Known): Fields | Unreported {
  const subscription = fields["subscription_id"];
  const isAsked = isOfHistory(known) && resourceOf(fields) === endResource;
  if (!isAsked || subscription === undefined) return fields;
  const end = endOf(subscription, known);
  return isUnreported(end) ? end : { ...fields, ...end };
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
  if ("Standing" in body) return body.Standing.at;
  return "Subscription" in body ? (body.Subscription.steps[0]?.at ?? 0) : 0;
}
