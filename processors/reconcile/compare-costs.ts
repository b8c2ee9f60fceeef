/**
 * Fees and taxes of the payments that both sides have, where the provider's list has them. They do
 * not count for the score, because a fee may be known later than its payment.
 */
import { limits } from "../../config.js";
import type { ListedPayment, ListedTax } from "../../providers/backfill.js";
import { grouped, inTurns } from "../../runtime/lists.js";
import { knownExponentOf, toJsonMinor } from "../../schemas/money/money.js";
import { type CostDifference, costKinds, type MonthReport } from "../../schemas/reconciliation.js";
import type { Pair } from "./compare-month.js";

type Kind = (typeof costKinds)[number];

/** Each payment with the tax of all that it paid for; null where some of it is not known. */
export async function withTaxes(
  payments: ReadonlyMap<string, ListedPayment>,
  taxes: Iterable<ListedTax>,
): Promise<Map<string, ListedPayment>> {
  const taxed = new Map(payments);
  await inTurns(
    grouped(taxes, ({ payment }) => payment),
    ([payment, parts]) => {
      const known = payments.get(payment);
      if (known === undefined) return;
      const add = (sum: bigint | null, { tax }: ListedTax): bigint | null =>
        sum === null || tax === null ? null : sum + tax;
      taxed.set(payment, { ...known, tax: parts.reduce(add, 0n) });
    },
  );
  return taxed;
}

interface Sums {
  readonly kind: Kind;
  readonly currency: string;
  payments: number;
  listed: bigint;
  booked: bigint;
  differing: number;
}

/** @param listedSince what was booked since then is newer than the list, and left out */
export async function comparedCosts(
  pairs: readonly Pair[],
  listedSince: number,
): Promise<Pick<MonthReport, "costs" | "cost_differences">> {
  const sums = new Map<string, Sums>();
  const rows: CostDifference[] = [];
  await inTurns(pairs, ({ listed, booked }) => {
    if (listed === null || booked === null || booked.recordedAt >= listedSince) return;
    const { currency, payment } = listed;
    if (booked.currency !== currency) return;
    for (const kind of costKinds) {
      const theirs = listed[kind] ?? null;
      if (theirs === null) continue;
      const ours = booked[kind] ?? null;
      const sum = sumsOf(sums, kind, currency);
      sum.payments += 1;
      sum.listed += theirs;
      sum.booked += ours ?? 0n;
      if (theirs === (ours ?? 0n)) continue;
      sum.differing += 1;
      rows.push({
        kind,
        payment,
        transaction: booked.transaction,
        at: new Date(listed.at).toISOString(),
        currency,
        listed_minor: toJsonMinor(theirs),
        booked_minor: ours === null ? null : toJsonMinor(ours),
      });
    }
  });
  rows.sort((one, other) => apart(other) - apart(one) || (one.payment < other.payment ? -1 : 1));
  return {
    costs: [...sums]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { kind, currency, payments, listed, booked, differing }]) => ({
        kind,
        currency,
        exponent: knownExponentOf(currency),
        payments,
        listed_minor: toJsonMinor(listed),
        booked_minor: toJsonMinor(booked),
        differing,
      })),
    cost_differences: rows.slice(0, limits.differencesPerMonthMax),
  };
}

function sumsOf(sums: Map<string, Sums>, kind: Kind, currency: string): Sums {
  const name = `${currency} ${kind}`;
  const known = sums.get(name);
  if (known !== undefined) return known;
  const made = { kind, currency, payments: 0, listed: 0n, booked: 0n, differing: 0 };
  sums.set(name, made);
  return made;
}

function apart({ listed_minor: listed, booked_minor: booked }: CostDifference): number {
  return Math.abs(listed - (booked ?? 0));
}
