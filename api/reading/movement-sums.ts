/** Movements added up by kind, unrounded. */
import { type MovementKind, movementKinds } from "../movement-series/schema.js";
import { mrrOf } from "./amounts.js";

/** MRR in millionths of the base currency. */
export interface Balance {
  readonly mrr: bigint;
  readonly accounts: number;
}

/** Every kind is there. */
export type Sums = ReadonlyMap<MovementKind, Balance>;

interface Row {
  readonly kind: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

export function sumsOf(rows: readonly Row[]): Sums {
  const sums = new Map(movementKinds.map((kind) => [kind, nothing]));
  for (const row of rows) {
    const kind = kindOf(row);
    const sum = sums.get(kind) ?? nothing;
    sums.set(kind, {
      mrr: sum.mrr + mrrOf(row.mrr),
      accounts: sum.accounts + Number(row.accounts),
    });
  }
  return sums;
}

/** What a series is made of, by where its intervals begin. */
export function rowsByStart<Begun extends { readonly start: string }>(
  rows: readonly Begun[],
): ReadonlyMap<string, readonly Begun[]> {
  const byStart = new Map<string, Begun[]>();
  for (const row of rows) {
    const sameStart = byStart.get(row.start);
    if (sameStart) sameStart.push(row);
    else byStart.set(row.start, [row]);
  }
  return byStart;
}

export function plus(one: Sums, other: Sums): Sums {
  return new Map(movementKinds.map((kind) => [kind, added(one.get(kind), other.get(kind))]));
}

/** Of all kinds: what all movements up to a moment come to. */
export function balanceOf(sums: Sums): Balance {
  return [...sums.values()].reduce(added, nothing);
}

export function balanceAfter(start: Balance, moved: Sums): Balance {
  return added(start, balanceOf(moved));
}

export function kindOf({ kind }: Pick<Row, "kind">): MovementKind {
  const known = movementKinds.find((each) => each === kind);
  if (known === undefined) throw new Error(`no such kind of movement: ${kind}`);
  return known;
}

export const nothing: Balance = { mrr: 0n, accounts: 0 };

function added(one: Balance = nothing, other: Balance = nothing): Balance {
  return { mrr: one.mrr + other.mrr, accounts: one.accounts + other.accounts };
}
