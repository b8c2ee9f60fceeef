/** The envelope around every Stripe object, and how an object's reader is made from its shape. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody } from "../../schemas/records/records.js";
import { anyCaseCurrency } from "../fields.js";
import { idIn } from "./connected.js";
import { readerOf, rejected, type Unreported } from "../outcomes.js";

export interface StripeEvent {
  readonly type: string;
  /** `created`, ms since 1970 */
  readonly at: number;
  /** acct_… of a connected account; null for the platform's own events */
  readonly account: string | null;
  readonly object: unknown;
  /** `2025-09-30.clover`: how the event is rendered; null: not reported */
  readonly apiVersion: string | null;
  /** What changed fields were before an `…updated` event. */
  readonly previous: Readonly<Record<string, unknown>>;
  /** What earlier events reported objects this one only names. */
  readonly kept: ReadonlyMap<string, unknown>;
  /** What Stripe's API answered, by path (see answers.ts). */
  readonly answers: ReadonlyMap<string, unknown>;
}

type Reported = readonly FactBody[] | Unreported;
export type Reader = (event: StripeEvent) => Reported;

export const reader = readerOf<StripeEvent, readonly FactBody[]>(({ object }) => object);

/** Needed, but not in the event: Stripe's API has it (`definitions.md`, Providers). */
export function unavailable(what: string): Unreported {
  return rejected("enrichment_unavailable", `Stripe must be asked: ${what}`);
}

/** Customers of a connected account are other people than the platform's own with that id. */
export function accountKey({ account }: StripeEvent, customer: string | null): string | null {
  return customer === null ? null : idIn(account, customer);
}

const amountMax = Number(limits.amountMinorMax);
const secondsMax = 253_402_300_799; // 9999-12-31

/** Fields as Stripe writes them, turned into ours. */
export const field = {
  id: z.string().min(1).max(255),
  /** Unix seconds → ms */
  time: z
    .int()
    .nonnegative()
    .max(secondsMax)
    .transform((given) => given * 1000),
  /** Integer in Stripe's minor unit of the object's currency. */
  amount: z
    .int()
    .min(-amountMax)
    .max(amountMax)
    .transform((amount) => BigInt(amount)),
  /** Lower case at Stripe; upper-case ISO 4217 here. */
  currency: anyCaseCurrency,
  /** An id, or the object itself where the field was expanded, or nothing. */
  reference: z
    .union([z.string().min(1).max(255), z.object({ id: z.string().min(1).max(255) })])
    .nullish()
    .transform((given) => (typeof given === "object" ? (given?.id ?? null) : (given ?? null))),
  /** An address is optional for a payment: an invalid one is read as an unknown country. */
  address: z
    .object({ country: z.string().nullish() })
    .nullish()
    .catch(null)
    .transform((given) => {
      const code = given?.country?.toUpperCase() ?? "";
      return /^[A-Z]{2}$/.test(code) ? code : null;
    }),
};

/** A time as queries take it. */
export function seconds(atMs: number): string {
  return `${Math.floor(atMs / 1000)}`;
}
