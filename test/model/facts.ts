/**
 * What the reference model reads from events. Amounts are minor units of ISO 4217, times are ms
 * since 1970 (UTC). What is optional may be left out, be null or be empty, which are the same.
 */
import type { JsonObject } from "../../ops/payloads/stripe.js";
import type { Fraction } from "./fraction.js";

/** Whose webhook an event is (webhooks.ts), or a form A record. */
export type Source =
  | "record"
  | "custom"
  | "revenuecat"
  | "gumroad"
  | "stripe"
  | "apple"
  | "google"
  | "paddle"
  | "lemonsqueezy"
  | "polar"
  | "chargebee";

/** One distinct event: a webhook's body, or a form A record. */
export interface ModelEvent {
  /** The service's name for it when it is known, else the sender's: decides ties. */
  readonly id: string;
  readonly receivedAt: number;
  readonly source: Source;
  readonly body: JsonObject;
}

export interface Line {
  readonly sku: string;
  readonly weight: bigint;
  /** The provider's id of the line, by which a refund may name it. */
  readonly id?: Optional<string>;
}

type Optional<T> = T | null | undefined;

interface Reported {
  readonly eventId: string;
  /** When the provider said it. */
  readonly reportedAt: number;
  readonly provider: string;
}

export type PaymentType = "subscription" | "one_time";

export interface Sale extends Reported {
  readonly kind: "sale";
  readonly payment: string;
  readonly at: number;
  readonly amount: bigint;
  readonly currency: string;
  readonly country: string | null;
  /** Whose payment it is; left out: nobody knows. */
  readonly account?: Optional<string>;
  readonly type: PaymentType | null;
  readonly lines: readonly Line[];
  /** Within `amount`; left out: nobody reported it. */
  readonly tax?: Optional<bigint>;
  /** Kept by the provider; left out: nobody reported it. */
  readonly fee?: Optional<bigint>;
  /** Reported by another document than the payment's own, which knows better. */
  readonly isSecondHand?: boolean;
  /** One of several that add up; left out: all of the payment. */
  readonly record?: Optional<string>;
}

export interface Purchase extends Reported {
  readonly kind: "purchase";
  readonly purchase: string;
  readonly country: string | null;
  readonly account?: Optional<string>;
  readonly type: PaymentType | null;
  readonly lines: readonly Line[];
  readonly tax?: Optional<bigint>;
  /** What all its payments come to, where there may be several. */
  readonly total?: Optional<bigint>;
}

export interface Link extends Reported {
  readonly kind: "link";
  readonly payment: string;
  readonly purchase: string;
  /** It was bought as it stood then; left out: as it stands last. */
  readonly asOf?: Optional<number>;
  /**
   * How much of it this payment, or one record of it, paid, and when; left out: nobody reported.
   */
  readonly part?: Optional<Part>;
}

interface Part {
  readonly amount: bigint;
  readonly at: number;
  readonly record?: Optional<string>;
}

export interface Refund extends Reported {
  readonly kind: "refund";
  readonly refund: string;
  /** Null: it names no sale. */
  readonly payment: string | null;
  readonly at: number;
  readonly amount: bigint;
  readonly currency: string;
  readonly failedAt: number | null;
  readonly sku: string | null;
  /** The line of the sale it takes from, where it names no product. */
  readonly line?: Optional<string>;
  readonly country: string | null;
  readonly account?: Optional<string>;
  /** Within `amount`; left out: nobody reported it. */
  readonly tax?: Optional<bigint>;
  /** What it is returned for, where it names that and not the payment. */
  readonly purchase?: Optional<string>;
}

/** All that was refunded of a payment up to `at`. */
export interface RefundTotal extends Reported {
  readonly kind: "refund_total";
  readonly payment: string;
  readonly at: number;
  readonly amount: bigint;
  readonly currency: string;
  /** Which document counts, where two count the same refunds. */
  readonly witness?: Optional<string>;
}

export interface Dispute extends Reported {
  readonly kind: "dispute";
  readonly dispute: string;
  readonly payment: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly withdrawnAt: number | null;
  readonly returnedAt: number | null;
  /** Of `amount`; left out: all of it. */
  readonly returned?: Optional<bigint>;
  /** 2: the money's own times; 1: a notice that it moved; 0: only the outcome. */
  readonly certainty: 0 | 1 | 2;
  /** The line of the sale it takes from; left out: all of them. */
  readonly line?: Optional<string>;
  /** Within `amount`; left out: nobody reported it. */
  readonly tax?: Optional<bigint>;
}

export interface Item {
  readonly item: string;
  readonly sku: string;
  /** Minor units a month. */
  readonly monthly: Fraction;
}

export type Phase = "expired" | "started" | "changed" | "ended";

/** From `steps[0].at` on the subscription is worth these items; later steps were announced. */
export interface Change extends Reported {
  readonly kind: "change";
  readonly subscription: string;
  readonly account: string;
  readonly phase: Phase;
  readonly currency: string;
  /** Left out: nobody reported it. */
  readonly country?: Optional<string>;
  readonly steps: readonly { readonly at: number; readonly items: readonly Item[] }[];
}

/** One side of a subscription that was sent without an id. */
export interface Unidentified extends Reported {
  readonly kind: "unidentified";
  readonly side: "start" | "churn";
  readonly pool: string;
  readonly at: number;
  readonly subscription: string;
  readonly account: string;
}

/** Where a customer is. */
interface Customer extends Reported {
  readonly kind: "customer";
  readonly account: string;
  readonly country: string;
}

interface Naming extends Reported {
  readonly kind: "naming";
  readonly sku: string;
  readonly name: string;
}

export type Fact =
  | Sale
  | Purchase
  | Link
  | Refund
  | RefundTotal
  | Dispute
  | Change
  | Unidentified
  | Customer
  | Naming;

/** Without what is put in for all facts of an event. */
export type BareFact = Fact extends infer F
  ? F extends Fact
    ? Omit<F, keyof Reported>
    : never
  : never;

/** ISO 4217 minor units of the currencies the tests use: 2 unless listed. */
export function exponentOf(currency: string): number {
  if (["ISK", "JPY", "KRW", "VND", "CLP"].includes(currency)) return 0;
  return ["BHD", "JOD", "KWD", "OMR", "TND"].includes(currency) ? 3 : 2;
}
