/**
 * How a provider's payouts are read: what it sent to the merchant's bank, and what each is made of.
 * What is read goes through `ask`, so that an adapter keeps no connection and no clock of its own.
 */
import type { z } from "zod";
import type { Span } from "./backfill.js";

/**
 * Reads one answer of the provider's API.
 * @param json sent as a POST
 * @returns null: the API has no such thing
 * @throws where there is no answer, or one of another shape
 */
export type Ask = <Answer>(
  path: string,
  shape: z.ZodType<Answer>,
  json?: object,
) => Promise<Answer | null>;

/** What a payout takes whose lines are a file that the provider makes first. */
export interface Making {
  /** ms since 1970 */
  readonly now: number;
  /**
   * The lines of a CSV file at one of `fileHosts`, where no credentials go. Null: there is none.
   * Reading them throws where it is no CSV.
   */
  csv(url: string): Promise<AsyncIterable<readonly string[]> | null>;
  pause(ms: number): Promise<void>;
}

/** Why a payout cannot be opened, for a person. */
export class PayoutUnread extends Error {
  override readonly name = "PayoutUnread";
  constructor(
    message: string,
    /** Whether the same call may succeed soon. */
    readonly isPassing: boolean,
  ) {
    super(message);
  }
}

export interface Payouts {
  /** Newest first. @param span what they are dated by stands in `dated` */
  list(span: Span, ask: Ask): AsyncIterable<Payout>;
  /**
   * @returns null if the provider has no such payout
   * @throws PayoutUnread where it cannot be opened
   */
  open(id: string, ask: Ask, making: Making): Promise<OpenedPayout | null>;
  /** Other hosts than the API's, whose files are read by https; none: left out. */
  readonly fileHosts?: readonly string[];
  /** By which day a list is asked for. */
  readonly dated: "arrival" | "creation";
  /** What its payouts cannot show: short sentences, for a person. */
  readonly notShown: readonly string[];
}

/** Minor units of `currency`. */
export interface Payout {
  readonly id: string;
  /** The provider's own word. */
  readonly status: string;
  /** ms since 1970 */
  readonly createdAt: number;
  /** When it reaches the bank; null: not known, or not yet. */
  readonly arrivesAt: number | null;
  readonly currency: string;
  /** Below nothing where money was taken from the bank. */
  readonly amount: bigint;
}

interface OpenedPayout {
  readonly payout: Payout;
  readonly lines: AsyncIterable<PayoutLine>;
  /** Why its lines cannot add up to it, for a person; null: they can. */
  readonly problem: string | null;
}

export const payoutLineKinds = ["payment", "refund", "dispute", "fee", "adjustment"] as const;

/** Something that moved the balance which is paid out. What is left of it is `amount - fee`. */
export interface PayoutLine {
  /** The provider's; where it gives none, its place. */
  readonly id: string;
  readonly kind: (typeof payoutLineKinds)[number];
  /** The provider's own word for it. */
  readonly what: string;
  readonly at: number;
  /** As in `Payment` facts; null: it is of none. */
  readonly payment: string | null;
  /** Of `amount` and `fee`; those of another currency than the payout's do not add up to it. */
  readonly currency: string;
  readonly amount: bigint;
  readonly fee: bigint;
}
