/**
 * The tax inside what was refunded of a sale: as the provider reports it, else the same share of
 * the tax that is left as of the money that is left. So a full refund returns the sale's tax, and
 * later refunds change no earlier ones (docs/decisions/refunds-and-disputes.md). Pure.
 */
import { divideRounded } from "../../../schemas/money/decimal.js";

/** Of the sale; minor units of its currency and of base. */
export interface TaxedSale {
  readonly amount: bigint;
  readonly tax: bigint;
  readonly taxInBase: bigint;
}

/** Money that goes out of the sale, or comes back (negative); minor units of its currency. */
export interface TaxedStep {
  readonly entry: string;
  readonly amount: bigint;
  /** Null: not reported. */
  readonly tax: bigint | null;
  /** The entry that it undoes. */
  readonly undoes: string | null;
}

export interface Span {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * @param steps in the sale's currency, in order of time
 * @returns for each the running total of returned tax, in minor units of base
 */
export function returnedTaxes(steps: readonly TaxedStep[], sale: TaxedSale): Span[] {
  let from = 0n;
  return placesOf(steps, sale).map((place) => {
    const span = { from, to: inBase(place, sale) };
    from = span.to;
    return span;
  });
}

function placesOf(steps: readonly TaxedStep[], sale: TaxedSale): Place[] {
  const start: Anchor = { amount: 0n, tax: 0n };
  // Mostly nothing is reported, and all is in proportion.
  let after = 0n;
  if (steps.every(({ tax }) => tax === null)) {
    return steps.map(({ amount }) => ({ amount: (after += amount), anchor: start }));
  }
  const moved = new Map<string, { readonly amount: bigint; readonly tax: bigint }>();
  let anchor = start;
  let isReported = false;
  return steps.map(({ entry, amount, tax: reportedTax, undoes }) => {
    const before = after;
    after += amount;
    const taxBefore = minorOf({ amount: before, anchor }, sale);
    const undone = undoes === null ? undefined : moved.get(undoes);
    isReported ||= reportedTax !== null;
    let tax: bigint | null = null;
    if (isReported && undoes !== null && undone !== undefined && undone.amount > 0n) {
      const back = divideRounded(undone.tax * amount, undone.amount);
      moved.set(undoes, { amount: undone.amount + amount, tax: undone.tax + back });
      tax = taxBefore + back;
    } else if (reportedTax !== null) {
      tax = taxBefore + reportedTax;
    } else if (isReported && after < before) {
      tax = divideRounded(taxBefore * after, before);
    }
    if (tax !== null) anchor = { amount: after, tax: after === 0n ? 0n : tax };
    const place = { amount: after, anchor };
    moved.set(entry, { amount, tax: minorOf(place, sale) - taxBefore });
    return place;
  });
}

/** From here on tax and money go back in proportion. */
interface Anchor {
  readonly amount: bigint;
  /** As reported, even if it is more than there was. */
  readonly tax: bigint;
}
interface Place {
  readonly amount: bigint;
  readonly anchor: Anchor;
}

/** Exactly, as a fraction of a minor unit of the sale's currency. */
function exact({ amount, anchor }: Place, sale: TaxedSale): { above: bigint; below: bigint } {
  const left = sale.amount - anchor.amount;
  if (left <= 0n || anchor.tax >= sale.tax) return { above: anchor.tax, below: 1n };
  return {
    above: anchor.tax * left + (sale.tax - anchor.tax) * (amount - anchor.amount),
    below: left,
  };
}

function minorOf(place: Place, sale: TaxedSale): bigint {
  const { above, below } = exact(place, sale);
  return divideRounded(above, below);
}

function inBase(place: Place, sale: TaxedSale): bigint {
  if (sale.tax <= 0n) return 0n;
  const { above, below } = exact(place, sale);
  if (place.amount >= sale.amount || above >= sale.tax * below) return sale.taxInBase;
  return above <= 0n ? 0n : divideRounded(sale.taxInBase * above, sale.tax * below);
}
