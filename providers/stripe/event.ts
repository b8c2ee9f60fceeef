/**
 * How Stripe writes an event: the envelope around every object, whose account it is, fields and
 * minor units turned into ours, and what things were called before. An object's reader is made from
 * its shape.
 *
 * Connected accounts: their merchants may choose the ids of products and coupons, so each account's
 * are its own and have its id in front, as its customers have.
 *
 * An account's API version stays what it was when it was made, so events of any version since 2011
 * come, and are read under the names of today.
 */
import { z } from "zod";
import { limits } from "../../config.js";
import { divideRounded } from "../../schemas/money/money.js";
import { type Fraction, fraction, multiplyFractions } from "../../schemas/money/monthly.js";
import type { FactBody, Line } from "../../schemas/records/records.js";
import { anyCaseCurrency, isObject } from "../fields.js";
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

/** @param account acct_…; null: the platform's own, whose ids stand as they are */
export function idIn(account: string | null, id: string): string {
  return account === null ? id : `${account}:${id}`;
}

export function withOwnSkus(body: FactBody, account: string | null): FactBody {
  if (account === null) return body;
  const own = <Named extends Pick<Line, "external_id">>(named: Named): Named => ({
    ...named,
    external_id: named.external_id && idIn(account, named.external_id),
  });
  if ("Sku" in body) return { Sku: own(body.Sku) };
  if ("Purchase" in body) {
    return { Purchase: { ...body.Purchase, lines: body.Purchase.lines.map(own) } };
  }
  if ("Subscription" in body) {
    const steps = body.Subscription.steps.map(({ at, items }) => ({ at, items: items.map(own) }));
    return { Subscription: { ...body.Subscription, steps } };
  }
  // Payments, refunds and disputes of Stripe name no products.
  return body;
}

/**
 * Stripe's minor units to those of ISO 4217. They differ for three currencies: ISK and UGX have no
 * decimals in ISO but are sent with two (500 is 5 ISK); MGA has two in ISO but is sent without.
 * Source: docs.stripe.com/currencies, "Special cases".
 */
const isoPerStripeUnit: ReadonlyMap<string, Fraction> = new Map([
  ["ISK", fraction(1n, 100n)],
  ["UGX", fraction(1n, 100n)],
  ["MGA", fraction(100n)],
]);
const same = fraction(1n);

/** @param currency upper case. Rounded only where Stripe breaks its own rule of two zeros. */
export function isoMinor(stripeAmount: bigint, currency: string): bigint {
  const factor = isoPerStripeUnit.get(currency);
  if (factor === undefined) return stripeAmount;
  return divideRounded(stripeAmount * factor.numerator, factor.denominator);
}

/** The same for prices, which may be fractions of a minor unit. */
export function isoMinorFraction(stripeAmount: Fraction, currency: string): Fraction {
  return multiplyFractions(stripeAmount, isoPerStripeUnit.get(currency) ?? same);
}

type Renamed = Readonly<Record<string, unknown>>;

/** By kind of object: a field of today and what stood for it (docs.stripe.com/changelog). */
const renames: Readonly<Record<string, readonly (readonly [string, (old: Renamed) => unknown])[]>> =
  {
    invoice: [
      // 2019-03-14: `date` became `created`.
      ["created", ({ date }) => date],
      // Added in 2018. Until then an invoice was paid whole or not at all.
      [
        "amount_paid",
        ({ paid, amount_due: due }) => (paid === true ? due : paid === false ? 0 : paid),
      ],
    ],
    subscription: [
      // Before 2019-10-17 there was only `start`, which is when the current plan began.
      ["created", ({ start_date: date, start }) => date ?? start],
      // Before 2017 a subscription had one plan, and no items.
      ["items", ({ id, plan, quantity }) => plan && { data: [{ id, plan, quantity }] }],
    ],
  };

export function inNamesOfToday(object: Renamed): Renamed {
  const kind = typeof object.object === "string" ? object.object : "";
  // A sender may call it "constructor".
  const known = Object.hasOwn(renames, kind) ? renames[kind] : undefined;
  const reform = Object.hasOwn(reformed, kind) ? reformed[kind] : undefined;
  if (known === undefined && reform === undefined) return object;
  const added = (known ?? []).flatMap(([name, from]) => {
    const value = object[name] ?? from(object);
    return value === undefined ? [] : [[name, value] as const];
  });
  const renamed = { ...object, ...Object.fromEntries(added) };
  return { ...renamed, ...reform?.(renamed) };
}

/** What became of another form. */
const reformed: Readonly<Record<string, (old: Renamed) => Renamed>> = {
  charge: ofCharge,
  invoice: ofInvoice,
  subscription: ofSubscription,
};

function ofCharge({ refunds, status }: Renamed): Renamed {
  return {
    // 2014-06-17: an array became a list. Refunds without an id are reported by the total alone.
    ...(Array.isArray(refunds) ? { refunds: { data: refunds.filter(hasId) } } : {}),
    // 2015-02-18: `paid` became `succeeded`.
    ...(status === "paid" ? { status: "succeeded" } : {}),
  };
}

/** 2012-10-26: lines by kind became one list. */
function ofInvoice({ lines }: Renamed): Renamed {
  if (!isObject(lines) || Array.isArray(lines.data)) return {};
  const kinds = [lines.subscriptions, lines.invoiceitems, lines.prorations];
  return { lines: { data: kinds.flatMap((some) => (Array.isArray(some) ? some : [])) } };
}

/** 2018-08-23: the `amount` of a plan's tier became `unit_amount`. */
function ofSubscription({ items }: Renamed): Renamed {
  if (!isObject(items) || !Array.isArray(items.data)) return {};
  return { items: { ...items, data: items.data.map(withTiersOfToday) } };
}

function withTiersOfToday(item: unknown): unknown {
  if (!isObject(item) || !isObject(item.plan) || !Array.isArray(item.plan.tiers)) return item;
  const tiers = item.plan.tiers.map((tier: unknown) =>
    isObject(tier) ? { unit_amount: tier.amount, ...tier } : tier,
  );
  return { ...item, plan: { ...item.plan, tiers } };
}

function hasId(refund: unknown): boolean {
  return isObject(refund) && typeof refund.id === "string";
}
