/**
 * What takes the last of a sale's money takes from each product what is left of it. Refunds may
 * name their lines and others not: shares pro rata would leave some products above zero and others
 * below (docs/decisions/2026-11-22-the-last-of-a-sale.md). Pure.
 */
import { splitByWeight } from "../schemas/money.js";
import { entriesOf, type Move, type Share } from "./entries.js";

/** @param moves of a payment: its sale, if that is known, comes first */
export function withRestTaken(moves: readonly Move[]): readonly Move[] {
  const [sale, ...outs] = moves;
  // Those that name nothing are running totals over the sale's lines, which leave nothing.
  if (sale?.kind !== "sale" || outs.every(({ lines }) => lines === sale.lines)) return moves;
  const left = new Left();
  left.add(sale);
  const rests = new Map<string, readonly Share[]>();
  let before = 0n;
  const taken = outs.map((out): Move => {
    if (out.currency !== sale.currency) return out;
    const after = before + out.original.to - out.original.from;
    const isLast = before < sale.original.to && after >= sale.original.to;
    const shares = isLast ? left.takenBy(out) : givenBack(out, rests, after - before);
    before = after;
    if (isLast && shares !== null) rests.set(out.entry, shares);
    const move = shares === null ? out : { ...out, shares };
    left.add(move);
    return move;
  });
  return [sale, ...taken];
}

/** What was taken so comes back so, where all of it does. */
function givenBack(
  { undoes }: Move,
  rests: ReadonlyMap<string, readonly Share[]>,
  amount: bigint,
): Share[] | null {
  const taken = undoes === null ? undefined : rests.get(undoes);
  if (taken === undefined || sumOf(taken, "original") !== -amount) return null;
  return taken.map(({ external_id, original, amount: inBase, tax }) => ({
    external_id,
    original: -original,
    amount: -inBase,
    tax: -tax,
  }));
}

/** Of each product, after the moves added. */
class Left {
  readonly #left = new Map<string, Share>();

  add(move: Move): void {
    for (const { external_id, original_amount: original, amount, tax } of entriesOf(move)) {
      this.#give({ external_id, original, amount, tax });
    }
  }

  /** All of it; what is more than that as the lines of the move say. */
  takenBy({ lines, original, amount, tax }: Move): Share[] {
    const all = [...this.#left.values()];
    const weights = lines.map(({ weight }) => weight);
    const [originals, amounts, taxes] = (
      [
        [original, "original"],
        [amount, "amount"],
        [tax, "tax"],
      ] as const
    ).map(([span, field]) => splitByWeight(span.to - span.from - sumOf(all, field), weights));
    const taken = new Left();
    for (const share of all) taken.#give(share);
    for (const [index, { external_id }] of lines.entries()) {
      const more = { original: originals?.[index] ?? 0n, amount: amounts?.[index] ?? 0n };
      taken.#give({ external_id, ...more, tax: taxes?.[index] ?? 0n });
    }
    return [...taken.#left.values()];
  }

  #give({ external_id, original, amount, tax }: Share): void {
    const before = this.#left.get(external_id);
    this.#left.set(external_id, {
      external_id,
      original: (before?.original ?? 0n) + original,
      amount: (before?.amount ?? 0n) + amount,
      tax: (before?.tax ?? 0n) + tax,
    });
  }
}

function sumOf(shares: readonly Share[], field: "original" | "amount" | "tax"): bigint {
  return shares.reduce((sum, share) => sum + share[field], 0n);
}
