/**
 * What Stripe called things before: an account's API version stays what it was when it was made,
 * so events of any version since 2011 come, and are read under the names of today.
 */

import { isObject } from "../fields.js";

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
      // 2019-10-17: `start`, of the plan as it stands, became `start_date`.
      ["created", ({ start_date: date, start }) => date ?? start],
      // Added in 2017: until then a subscription was of one plan.
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
