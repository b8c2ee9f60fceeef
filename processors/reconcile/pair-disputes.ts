/**
 * Pairs the money of disputes that a provider lists in a month with what is booked of it. A return
 * may have another id than what it returns (Paddle), so payment and amount count, too. Pure.
 */
import type { ListedPayment, Span } from "../../providers/backfill.js";
import { grouped } from "../../runtime/grouped.js";
import { inTurns } from "../../runtime/in-turns.js";
import type { BookedPayment, Pair } from "./compare-month.js";

/**
 * What is dated in the month by the provider, or by us alone. Both sides also have what is beside
 * it: they may date money on either side of the month's end.
 * @param month ms since 1970; the end is exclusive
 */
export async function disputePairsOf(
  listed: Iterable<ListedPayment>,
  booked: Iterable<BookedPayment>,
  month: Span,
): Promise<Pair[]> {
  const left = grouped(booked, keyOf);
  const pairs: Pair[] = [];
  await inTurns(grouped(listed, keyOf), ([key, all]) => {
    const others = left.get(key) ?? [];
    const same = all.map((one) => taken(others, (other) => isSame(one, other)));
    for (const [place, one] of all.entries()) {
      // Else of the same payment, with another amount.
      pairs.push({ listed: one, booked: same[place] ?? taken(others, () => true) });
    }
  });
  for (const one of [...left.values()].flat()) pairs.push({ listed: null, booked: one });
  return pairs.filter((pair) => {
    const at = (pair.listed ?? pair.booked)?.at ?? 0;
    return at >= month.from && at < month.to;
  });
}

function keyOf({ payment, amount }: ListedPayment): string {
  return `${payment} ${amount > 0n ? "out" : "back"}`;
}

function isSame(one: ListedPayment, other: ListedPayment): boolean {
  if (one.dispute === other.dispute) return true;
  return (
    one.currency === other.currency &&
    one.amount === other.amount &&
    one.refunded === other.refunded
  );
}

/** The first that fits, which is then no longer among them. */
function taken(
  others: BookedPayment[],
  fits: (other: BookedPayment) => boolean,
): BookedPayment | null {
  const place = others.findIndex(fits);
  return place === -1 ? null : (others.splice(place, 1)[0] ?? null);
}
