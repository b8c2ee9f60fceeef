/**
 * The movements of one moment of an account. What moves between SKUs, subscriptions, currencies or
 * intervals is `switch`; only the rest has the movement's name (`definitions.md`, MRR). Intervals
 * are divided last, so that they change nothing in the sums above them. Pure.
 */
import { compare, grouped } from "../../../runtime/lists.js";
import type { MovementKind } from "../../../schemas/records/records.js";
import type { Part } from "./subscription.js";

export interface MomentMovement {
  readonly part: Part;
  readonly kind: MovementKind;
  /** Millionths of the base currency. */
  readonly mrr: bigint;
  /**
   * 1 when the account becomes active, -1 when it ceases to be, on one row of the moment; else 0.
   */
  readonly accounts: number;
  readonly subscriptions: number;
}

/**
 * @param before what the account was worth until then, in millionths
 * @param isFirst the account was never worth anything before
 */
export function movementsOfMoment(
  parts: readonly Part[],
  before: bigint,
  isFirst: boolean,
): MomentMovement[] {
  const wholes = wholesOf(parts);
  const gains = sumOf(wholes.filter(({ mrr }) => mrr > 0n));
  const losses = -sumOf(wholes.filter(({ mrr }) => mrr < 0n));
  const after = before + gains - losses;
  const kind = kindOf(before, after, isFirst);
  const switched = gains < losses ? gains : losses;
  const [gaining, losing] = [new Shares(switched, gains), new Shares(switched, losses)];
  const movements: MomentMovement[] = [];
  let accounts = Number(after > 0n) - Number(before > 0n);
  for (const whole of wholes.toSorted(largestFirst)) {
    const isGain = whole.mrr > 0n;
    const share = (isGain ? gaining : losing).next(sizeOf(whole));
    let { subscriptions } = whole;
    for (const { part, own } of ownOf(whole, sizeOf(whole) - share)) {
      if (own !== 0n) {
        movements.push({ part, kind, mrr: own, accounts, subscriptions });
        accounts = 0;
        subscriptions = 0;
      }
      if (part.mrr === own) continue;
      movements.push({ part, kind: "switch", mrr: part.mrr - own, accounts: 0, subscriptions });
      subscriptions = 0;
    }
  }
  return movements;
}

/** What an SKU of a subscription gains or loses in one currency, in all intervals. */
interface Whole extends Pick<Part, "subscription" | "sku" | "currency" | "mrr" | "subscriptions"> {
  readonly parts: readonly Part[];
}

function wholesOf(parts: readonly Part[]): Whole[] {
  const byName = grouped(parts, ({ subscription, sku, currency }) =>
    JSON.stringify([subscription, sku, currency]),
  );
  return [...byName.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const subscriptions = some.reduce((sum, part) => sum + part.subscriptions, 0);
    return [{ ...first, mrr: sumOf(some), subscriptions, parts: some }];
  });
}

/**
 * The share of each interval's part that has the movement's name, among parts of its sign. The rest
 * moves to other intervals or other parts of the account.
 * @param size of all that has the name
 */
function ownOf(whole: Whole, size: bigint): { readonly part: Part; readonly own: bigint }[] {
  const isGain = whole.mrr > 0n;
  const isAlike = ({ mrr }: Part): boolean => mrr > 0n === isGain;
  const alike = sumOf(whole.parts.filter(isAlike));
  const shares = new Shares(size, isGain ? alike : -alike);
  return whole.parts
    .toSorted((one, other) => compare(one.interval, other.interval))
    .map((part) => {
      const share = isAlike(part) ? shares.next(sizeOf(part)) : 0n;
      return { part, own: isGain ? share : -share };
    });
}

function kindOf(before: bigint, after: bigint, isFirst: boolean): MovementKind {
  if (before === 0n) return isFirst ? "new" : "reactivation";
  if (after === 0n) return "churn";
  return after >= before ? "expansion" : "contraction";
}

/** Divides an amount in proportion to parts of a whole, in whole millionths that add up to it. */
class Shares {
  #passed = 0n;
  #given = 0n;

  constructor(
    private readonly amount: bigint,
    private readonly whole: bigint,
  ) {}

  /** Called for each part of the whole; never more than the part. */
  next(part: bigint): bigint {
    this.#passed += part;
    const before = this.#given;
    if (this.whole === 0n) return 0n;
    this.#given = (this.amount * this.#passed) / this.whole;
    return this.#given - before;
  }
}

function largestFirst(one: Whole, other: Whole): number {
  return (
    compare(sizeOf(other), sizeOf(one)) ||
    compare(one.subscription, other.subscription) ||
    compare(one.sku, other.sku) ||
    compare(one.currency, other.currency)
  );
}

function sizeOf({ mrr }: Pick<Part, "mrr">): bigint {
  return mrr < 0n ? -mrr : mrr;
}

function sumOf(parts: readonly Pick<Part, "mrr">[]): bigint {
  return parts.reduce((sum, { mrr }) => sum + mrr, 0n);
}
