/** Movements added up by kind, unrounded. */
import { grouped } from "../../runtime/lists.js";
import { type MovementKind, movementKinds } from "../../schemas/records/records.js";
import { mrrOf } from "../../schemas/money/monthly.js";

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
    const more = { mrr: mrrOf(row.mrr), accounts: Number(row.accounts) };
    sums.set(kind, added(sums.get(kind), more));
  }
  return sums;
}

/** What a series is made of, by where its intervals begin. */
export function sumsByStart(
  rows: readonly (Row & { readonly start: string })[],
): (start: string) => Sums {
  const byStart = grouped(rows, ({ start }) => start);
  return (start) => sumsOf(byStart.get(start) ?? []);
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

/** Amounts of each kind under the names of fields, from values in the order of `movementKinds`. */
export function amountsByKind<Amount>(
  amounts: readonly bigint[],
  shown: (amount: bigint) => Amount,
): Record<`${MovementKind}_mrr`, Amount> {
  const [fresh, expansion, contraction, churn, reactivation, switched] = amounts;
  const of = (amount = 0n) => shown(amount);
  return {
    new_mrr: of(fresh),
    expansion_mrr: of(expansion),
    contraction_mrr: of(contraction),
    churn_mrr: of(churn),
    reactivation_mrr: of(reactivation),
    switch_mrr: of(switched),
  };
}

const nothing: Balance = { mrr: 0n, accounts: 0 };

function added(one: Balance = nothing, other: Balance = nothing): Balance {
  return { mrr: one.mrr + other.mrr, accounts: one.accounts + other.accounts };
}
