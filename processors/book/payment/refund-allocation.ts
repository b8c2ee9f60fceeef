/**
 * What each line of a sale gives back. A refund that names lines takes those; any other takes a
 * part of each line, and no line gives back more than it brought in while another has something
 * left (docs/decisions/refunds-and-disputes.md). It follows from totals alone, so one move is the
 * difference of two moments. Pure.
 */
import { compare } from "../../../runtime/lists.js";
import { divideRounded, splitByWeight } from "../../../schemas/money/money.js";
import type { Line } from "../../../schemas/records/records.js";

/** Minor units: `original` of the sale's currency, the others of base. */
export interface Parts {
  readonly original: bigint;
  readonly amount: bigint;
  readonly tax: bigint;
}
export type Measure = keyof Parts;
const measures = ["original", "amount", "tax"] as const;

export function partsBy(amountOf: (measure: Measure) => bigint): Parts {
  return { original: amountOf("original"), amount: amountOf("amount"), tax: amountOf("tax") };
}

/** By SKU what went out by name, which may exceed what the line brought in. */
export type Named = ReadonlyMap<string, Parts>;
const nothingNamed: Named = new Map();

export class SoldLines {
  readonly #weights: readonly bigint[];
  readonly #shares = new Map<Measure, readonly bigint[]>();

  constructor(
    readonly total: Parts,
    readonly lines: readonly Line[],
  ) {
    this.#weights = lines.map(({ weight }) => weight);
  }

  /**
   * @param total how much of it is out
   * @param skus those of the lines, then others that were named
   * @returns one share for each of `skus`; their sum is `total`
   */
  returned(measure: Measure, total: bigint, named: Named, skus: readonly string[]): bigint[] {
    const rooms = skus.map((sku, index): Room => {
      const sold = this.#sharesOf(measure)[index] ?? 0n;
      const taken = named.get(sku)?.[measure] ?? 0n;
      // Tax as reported may be less than its proportional part was before.
      return { sold, weight: this.#weights[index] ?? 0n, named: taken > 0n ? taken : 0n };
    });
    const beyond = total - this.total[measure];
    if (beyond < 0n) return withinRooms(total, rooms);
    const weights = rooms.map((room) => (named.size > 0 ? room.named : room.weight));
    const more = beyond === 0n ? [] : splitByWeight(beyond, weights);
    return rooms.map(({ sold }, index) => sold + (more[index] ?? 0n));
  }

  #sharesOf(measure: Measure): readonly bigint[] {
    const known = this.#shares.get(measure);
    if (known !== undefined) return known;
    const shares = splitByWeight(this.total[measure], this.#weights);
    this.#shares.set(measure, shares);
    return shares;
  }
}

export class NamedLines {
  #named: Named = nothingNamed;
  readonly #takenBy = new Map<string, Named>();

  get sum(): Named {
    return this.#named;
  }

  take(entry: string, step: Parts, lines: readonly Line[]): void {
    const weights = lines.map(({ weight }) => weight);
    const taken = split(
      lines.map((line) => line.external_id),
      step,
      () => weights,
    );
    this.#takenBy.set(entry, taken);
    this.#named = added(this.#named, taken, 1n);
  }

  /** @param step what comes back of what `entry` took */
  giveBack(entry: string, step: Parts): void {
    const taken = this.#takenBy.get(entry);
    if (taken === undefined) return;
    const parts = [...taken.values()];
    const isWhole = step.original >= parts.reduce((sum, { original }) => sum + original, 0n);
    const back = isWhole
      ? taken
      : split([...taken.keys()], step, (measure) => parts.map((part) => part[measure]));
    this.#takenBy.set(entry, added(taken, back, -1n));
    this.#named = added(this.#named, back, -1n);
  }
}

interface Room {
  readonly sold: bigint;
  readonly weight: bigint;
  readonly named: bigint;
}

/** Less went out than was sold: what is out without a name goes to the room that names leave. */
function withinRooms(total: bigint, rooms: readonly Room[]): bigint[] {
  const names = rooms.map(({ named }) => named);
  const rest = names.reduce((left, named) => left - named, total);
  if (rest < 0n) {
    // After conversion, names may come to a cent more than all that is out.
    const fitting = splitByWeight(total, names);
    return withinRooms(
      total,
      rooms.map((room, index) => ({ ...room, named: fitting[index] ?? 0n })),
    );
  }
  const weights = rooms.map(({ weight }) => weight);
  const shares = splitByWeight(rest, weights).map((share, index) => share + (names[index] ?? 0n));
  const fits = rooms.every(
    ({ sold, weight }, index) => weight < 0n || (shares[index] ?? 0n) <= sold,
  );
  return fits ? shares : filled(total, rooms);
}

/**
 * Gives each line its part of what is left. Lines without room for it are left out, the fullest
 * first, and the rounding goes to the largest with room for it.
 */
function filled(total: bigint, rooms: readonly Room[]): bigint[] {
  const full = new Set(rooms.filter((room) => room.weight >= 0n && roomOf(room) < 0n));
  let rest = total;
  let weight = 0n;
  for (const room of rooms) {
    rest -= full.has(room) ? room.sold : room.named;
    weight += full.has(room) ? 0n : room.weight;
  }
  const byRoom = rooms
    .filter((room) => room.weight > 0n && !full.has(room))
    .sort((one, other) => compare(roomOf(one) * other.weight, roomOf(other) * one.weight));
  for (const room of byRoom) {
    if (weight <= 0n || roomOf(room) * weight > rest * room.weight) break;
    full.add(room);
    rest -= roomOf(room);
    weight -= room.weight;
  }
  const shareOf = (room: Room): bigint =>
    full.has(room) ? room.sold : room.named + (weight > 0n ? (rest * room.weight) / weight : 0n);
  return withRemainder(total, rooms, rooms.map(shareOf));
}

function withRemainder(total: bigint, rooms: readonly Room[], shares: readonly bigint[]): bigint[] {
  const all = [...shares];
  let left = all.reduce((running, share) => running - share, total);
  const largestFirst = [...rooms.entries()].sort(([, one], [, other]) =>
    compare(other.weight, one.weight),
  );
  for (const [index, { sold }] of largestFirst) {
    const share = all[index] ?? 0n;
    const more = sold - share < left ? sold - share : left;
    if (more <= 0n) continue;
    all[index] = share + more;
    left -= more;
  }
  // Beside credited lines there may be no room for it.
  const [largest] = largestFirst[0] ?? [0];
  all[largest] = (all[largest] ?? 0n) + left;
  return all;
}

function roomOf({ sold, named }: Room): bigint {
  return sold - named;
}

function split(
  skus: readonly string[],
  step: Parts,
  weightsOf: (measure: Measure) => readonly bigint[],
): Named {
  const sharesOf = (measure: Measure): bigint[] =>
    step[measure] === 0n ? [] : splitByWeight(step[measure], weightsOf(measure));
  const shares = {
    original: sharesOf("original"),
    amount: sharesOf("amount"),
    tax: sharesOf("tax"),
  };
  return new Map(
    skus.map((sku, index) => [sku, partsBy((measure) => shares[measure][index] ?? 0n)]),
  );
}

/** @param sign 1 adds, -1 subtracts; sums of 0 are left out */
function added(sums: Named, more: Named, sign: 1n | -1n): Named {
  const all = new Map(sums);
  for (const [sku, part] of more) {
    const now = partsBy((measure) => (all.get(sku)?.[measure] ?? 0n) + sign * part[measure]);
    if (measures.every((measure) => now[measure] === 0n)) all.delete(sku);
    else all.set(sku, now);
  }
  return all;
}

/** Of the sale; minor units of its currency and of base. */
interface TaxedSale {
  readonly amount: bigint;
  readonly tax: bigint;
  readonly taxInBase: bigint;
}

/** Money that goes out of the sale, or comes back (negative); minor units of its currency. */
interface TaxedStep {
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
 * The tax inside what was refunded of a sale: as the provider reports it, else the same share of
 * the tax that is left as of the money that is left. So a full refund returns the sale's tax, and
 * later refunds change no earlier ones (docs/decisions/refunds-and-disputes.md).
 *
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
