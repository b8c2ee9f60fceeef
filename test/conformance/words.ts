/** What an example is read to, in words: what it does to money, to MRR, and what else. */
import type { Decoded, DecodedFact, Heading } from "../../providers/provider.js";
import type { FactBody } from "../../schemas/records/records.js";

export interface ReadFixture {
  /** Its file's, without the ending. */
  readonly name: string;
  /** Null: no event of this provider. */
  readonly heading: Heading | null;
  readonly decoded: Decoded;
  /** Whether answers of the provider's API lie beside it. */
  readonly isAnswered: boolean;
}

export interface Effect {
  readonly money: string;
  readonly mrr: string;
  readonly besides: string;
}

const nothing = "–";

export function effectOf({ decoded, isAnswered }: ReadFixture): Effect {
  if (decoded.outcome === "ignored")
    return { ...nothingReported, besides: `ignored: ${decoded.why}` };
  if (decoded.outcome === "rejected") {
    return { ...nothingReported, besides: `reject \`${decoded.reason}\`: ${decoded.detail}` };
  }
  const { facts, mirrorOf } = decoded;
  return {
    money: reported(facts.flatMap(({ body }) => moneyOf(body))),
    mrr: reported(facts.flatMap(({ body }) => mrrOf(body))),
    besides: reported([
      ...facts.flatMap(namesOf),
      ...(isAnswered ? ["the provider's API answers"] : []),
      ...(mirrorOf === undefined ? [] : [`not booked where ${mirrorOf} is connected itself`]),
    ]),
  };
}

const nothingReported = { money: nothing, mrr: nothing };

/** Each thing once, in order. */
function reported(words: readonly string[]): string {
  return words.length === 0 ? nothing : [...new Set(words)].join("; ");
}

function moneyOf(body: FactBody): string[] {
  if ("Payment" in body) return [paymentOf(body.Payment)];
  if ("Purchase" in body) return ["what was bought"];
  if ("Link" in body) return ["which payment paid what was bought"];
  if ("Refund" in body) {
    const { failed_at: failedAt, payment } = body.Refund;
    if (failedAt !== null) return ["a refund that failed is taken back"];
    return [payment === null ? "a refund that names no sale" : "a refund"];
  }
  if ("RefundTotal" in body) return ["all that is refunded so far"];
  if ("Dispute" in body) {
    const { withdrawn_at: withdrawnAt, returned_at: returnedAt } = body.Dispute;
    if (returnedAt !== null) return ["a dispute's money comes back"];
    return [withdrawnAt === null ? "a dispute that took nothing" : "a dispute takes its money"];
  }
  return [];
}

type Payment = Extract<FactBody, { Payment: unknown }>["Payment"];

function paymentOf({ type, tax, fee }: Payment): string {
  const kind = type === null ? "a payment" : paymentKinds[type];
  const parts = [...(tax === null ? [] : ["tax"]), ...(fee === null ? [] : ["fee"])];
  return parts.length === 0 ? kind : `${kind}, with ${parts.join(" and ")}`;
}

const paymentKinds = {
  subscription: "a payment of a subscription",
  one_time: "a one-time payment",
} as const;

function mrrOf(body: FactBody): string[] {
  // Its start is reported beside it; a churn finds what it ends when it is booked.
  if ("Unidentified" in body) return body.Unidentified.side === "churn" ? ["ends"] : [];
  if ("Standing" in body) return [standings[body.Standing.standing]];
  if (!("Subscription" in body)) return [];
  const { phase, steps, trial = false } = body.Subscription;
  if (phase === "ended" || phase === "expired") return ["ends"];
  const verb = phase === "started" ? "starts" : "is set";
  const zero = trial ? " on trial" : steps[0]?.items.length === 0 ? " at 0" : "";
  const later = steps.length > 1 ? ", and changes at an announced time" : "";
  return [`${verb}${zero}${later}`];
}

const standings = {
  failing: "its payment failed",
  unpaid: "is unpaid",
  ended_unpaid: "because its payment failed",
  ended_otherwise: "for another reason",
} as const;

function namesOf({ body }: DecodedFact): string[] {
  if ("Customer" in body) return ["says where the customer is"];
  return "Sku" in body ? ["names the product"] : [];
}
