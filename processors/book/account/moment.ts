/**
 * What one moment of an account is called: its parts as movements. What moves between SKUs,
 * subscriptions or currencies is `switch`, and only the rest has the movement's name
 * (`definitions.md`, MRR). Pure.
 */
import { compare } from "../../../runtime/order.js";
import type { MovementKind } from "../../../schemas/records/records.js";
import type { Part } from "./subscription.js";

export interface MomentMovement {
  readonly part: Part;
  readonly kind: MovementKind;
  /** Millionths of the base currency: of the part, what is of this kind. */
  readonly mrr: bigint;
  /** 1 when the account becomes active, -1 when it ends to be, on one row of the moment; else 0. */
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
  const gains = sumOf(parts.filter(({ mrr }) => mrr > 0n));
  const losses = -sumOf(parts.filter(({ mrr }) => mrr < 0n));
  const after = before + gains - losses;
  const kind = kindOf(before, after, isFirst);
  const switched = gains < losses ? gains : losses;
  const [gaining, losing] = [new Shares(switched, gains), new Shares(switched, losses)];
  const movements: MomentMovement[] = [];
  let accounts = Number(after > 0n) - Number(before > 0n);
  for (const part of parts.toSorted(largestFirst)) {
    const isGain = part.mrr > 0n;
    const share = (isGain ? gaining : losing).next(isGain ? part.mrr : -part.mrr);
    const moved = isGain ? share : -share;
    let { subscriptions } = part;
    if (part.mrr !== moved) {
      movements.push({ part, kind, mrr: part.mrr - moved, accounts, subscriptions });
      accounts = 0;
      subscriptions = 0;
    }
    if (moved === 0n) continue;
    movements.push({ part, kind: "switch", mrr: moved, accounts: 0, subscriptions });
  }
  return movements;
}

function kindOf(before: bigint, after: bigint, isFirst: boolean): MovementKind {
  if (before === 0n) return isFirst ? "new" : "reactivation";
  if (after === 0n) return "churn";
  return after >= before ? "expansion" : "contraction";
}

/** Of an amount, in proportion to parts of a whole: whole millionths that add up to it. */
class Shares {
  #passed = 0n;
  #given = 0n;

  constructor(
    private readonly amount: bigint,
    private readonly whole: bigint,
  ) {}

  /** Of this part, never more than it; called for each part of the whole. */
  next(part: bigint): bigint {
    this.#passed += part;
    const before = this.#given;
    this.#given = (this.amount * this.#passed) / this.whole;
    return this.#given - before;
  }
}

function largestFirst(one: Part, other: Part): number {
  return (
    compare(sizeOf(other), sizeOf(one)) ||
    compare(one.subscription, other.subscription) ||
    compare(one.sku, other.sku) ||
    compare(one.currency, other.currency)
  );
}

function sizeOf({ mrr }: Part): bigint {
  return mrr < 0n ? -mrr : mrr;
}

function sumOf(parts: readonly Part[]): bigint {
  return parts.reduce((sum, { mrr }) => sum + mrr, 0n);
}
