/**
 * What should be recorded about one payment: after each fact, in order of receipt, the ledger rows
 * that make the difference and the transaction as then known. So any past answer can be given
 * again, however facts were batched. Pure.
 */
import { limits } from "../../../config.js";
import { isInt64 } from "../../../schemas/bounds.js";
import type { Fact, Line } from "../../../schemas/records/records.js";
import { entriesOf, type Entry, type Move, movesMoney, type Returned } from "./entries.js";
import { type Document, stateOf } from "./payment.js";
import { Prefix } from "./invoice-allocation.js";
import type { Span, Named, Parts } from "./refund-allocation.js";

export interface Version {
  readonly document: Document;
  /** The number of facts it knows. */
  readonly version: number;
  readonly fact: Fact;
  readonly changed: boolean;
}

export interface LedgerRow extends Entry {
  readonly fact: Fact;
}

export interface PaymentVersions {
  readonly versions: readonly Version[];
  readonly ledger: readonly LedgerRow[];
}

/** What should be recorded, and the facts that count for it. */
export interface Reported extends PaymentVersions {
  readonly counted: ReadonlySet<Fact>;
  /** Facts that say something but exceed the `limits` of a payment. */
  readonly beyond: readonly Fact[];
}

/**
 * The earliest facts by receipt count, up to `factsPerPaymentMax` that say anything, up to
 * `ledgerRowsPerPaymentMax` rows and to what a row can hold, so that a replay gives the same.
 * @param payment the provider's id of it
 * @param facts of the payment with its purchases, in order of receipt
 */
export function paymentVersions(payment: string, facts: readonly Fact[]): Reported {
  const versions: Version[] = [];
  const ledger: LedgerRow[] = [];
  const prefix = new Prefix(payment);
  const recorded = new RecordedMoves();
  let said = 0;
  let document: Document | null = null;
  let textBefore = "";
  for (const [index, fact] of facts.entries()) {
    let text = textBefore;
    if (prefix.add(fact)) {
      said += 1;
      if (said > limits.factsPerPaymentMax)
        return { versions, ledger, ...cut(payment, facts, index) };
      const state = stateOf(prefix);
      const entries = recorded.bringTo(state.moves, limits.ledgerRowsPerPaymentMax - ledger.length);
      if (entries === null) return { versions, ledger, ...cut(payment, facts, index) };
      for (const entry of entries) ledger.push({ fact, ...entry });
      ({ document } = state);
      text = textOf(document);
    }
    if (document === null) continue;
    versions.push({ document, version: index + 1, fact, changed: text !== textBefore });
    textBefore = text;
  }
  return { versions, ledger, counted: prefix.counted, beyond: [] };
}

/** @param end the first fact that is too many */
function cut(
  payment: string,
  facts: readonly Fact[],
  end: number,
): Pick<Reported, "counted" | "beyond"> {
  const prefix = new Prefix(payment, facts.slice(0, end));
  const counted = new Set(prefix.counted);
  return { counted, beyond: facts.slice(end).filter((fact) => prefix.add(fact)) };
}

/** Brings the ledger to given moves. Moves that stay as they are cost nothing. */
class RecordedMoves {
  #moves = new Map<string, Move>();

  /**
   * @returns the entries that make the difference; null if they are more than `rowsMax`, or an
   *   amount is more than a row can hold, as where lines nearly cancel each other
   */
  bringTo(moves: readonly Move[], rowsMax: number): Entry[] | null {
    const after = new Map<string, Move>();
    for (const move of moves) after.set(unused(after, move.entry), move);
    const lines = new LinesSeen();
    const entries: Entry[] = [];
    for (const [key, now] of after) {
      const before = this.#moves.get(key);
      if (before && isSame(now, before) && lines.areSame(now.lines, before.lines)) continue;
      for (const entry of differenceOf(now, before)) entries.push(entry);
      if (entries.length > rowsMax) return null;
    }
    for (const [key, before] of this.#moves) {
      if (after.has(key)) continue;
      for (const entry of differenceOf(undefined, before)) entries.push(entry);
      if (entries.length > rowsMax) return null;
    }
    if (!entries.every(fitsRow)) return null;
    this.#moves = after;
    return entries;
  }
}

function fitsRow({ original_amount: original, amount, tax, fee }: Entry): boolean {
  return [original, amount, tax, fee].every(isInt64);
}

/** Most moves of a payment share its lines, which are then compared once. */
class LinesSeen {
  #last: { readonly some: readonly Line[]; readonly others: readonly Line[] } | null = null;

  areSame(some: readonly Line[], others: readonly Line[]): boolean {
    if (some === others) return true;
    if (this.#last?.some === some && this.#last.others === others) return true;
    if (!isSameLines(some, others)) return false;
    this.#last = { some, others };
    return true;
  }
}

/**
 * What follows from `facts` and did not follow from those known before.
 * @param recorded of `facts`
 * @param before some of `facts`
 */
export function newVersions(
  payment: string,
  facts: readonly Fact[],
  recorded: PaymentVersions,
  before: readonly Fact[],
): PaymentVersions {
  const isEarlier = before.every(({ fact_id }, index) => facts[index]?.fact_id === fact_id);
  if (!isEarlier) return without(recorded, paymentVersions(payment, before));
  const known = new Set(before.map(({ fact_id }) => fact_id));
  return {
    versions: recorded.versions.filter(({ fact }) => !known.has(fact.fact_id)),
    ledger: recorded.ledger.filter(({ fact }) => !known.has(fact.fact_id)),
  };
}

function without(after: PaymentVersions, before: PaymentVersions): PaymentVersions {
  const stored = new Set(before.versions.map(versionKey));
  const rows = new Map<string, LedgerRow>();
  for (const row of after.ledger) addTo(rows, rowKey(row), row, 1);
  for (const row of before.ledger) addTo(rows, rowKey(row), row, -1);
  return {
    versions: after.versions.filter((version) => !stored.has(versionKey(version))),
    ledger: [...rows.values()].filter(movesMoney),
  };
}

function textOf(document: Document | null): string {
  return JSON.stringify(document, (_key, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
}

function versionKey({ document, version, fact }: Version): string {
  return JSON.stringify([document.timestamp, fact.received_at, fact.fact_id, version]);
}

function rowKey({ fact, ...entry }: LedgerRow): string {
  return JSON.stringify([entryKey(entry), fact.fact_id, fact.event_id, fact.received_at]);
}

/** Names of moves should be unique, but data of a provider is not trusted with that. */
function unused(moves: ReadonlyMap<string, Move>, name: string): string {
  let key = name;
  while (moves.has(key)) key += " ";
  return key;
}

function isSame(one: Move, other: Move): boolean {
  return (
    one.kind === other.kind &&
    one.currency === other.currency &&
    one.country === other.country &&
    one.at === other.at &&
    one.sales === other.sales &&
    one.isOut === other.isOut &&
    isSameSpan(one.original, other.original) &&
    isSameSpan(one.amount, other.amount) &&
    isSameSpan(one.tax, other.tax) &&
    isSameSpan(one.fee, other.fee) &&
    isSameReturned(one.returned, other.returned)
  );
}

function isSameReturned(one: Returned | null, other: Returned | null): boolean {
  if (one === null || other === null) return one === other;
  return (
    isSameParts(one.sold.total, other.sold.total) &&
    isSameNamed(one.from, other.from) &&
    isSameNamed(one.to, other.to)
  );
}

function isSameNamed(one: Named, other: Named): boolean {
  if (one === other) return true;
  if (one.size !== other.size) return false;
  for (const [sku, part] of one) {
    const same = other.get(sku);
    if (same === undefined || !isSameParts(part, same)) return false;
  }
  return true;
}

function isSameParts(one: Parts, other: Parts): boolean {
  return one.original === other.original && one.amount === other.amount && one.tax === other.tax;
}

function isSameSpan(one: Span, other: Span): boolean {
  return one.from === other.from && one.to === other.to;
}

function isSameLines(some: readonly Line[], others: readonly Line[]): boolean {
  return (
    some.length === others.length &&
    some.every((line, index) => {
      const other = others[index];
      return line.external_id === other?.external_id && line.weight === other.weight;
    })
  );
}

/** Entries by their dimensions; equal ones are added up. */
function differenceOf(after: Move | undefined, before: Move | undefined): Entry[] {
  const sums = new Map<string, Entry>();
  for (const entry of after ? entriesOf(after) : []) addTo(sums, entryKey(entry), entry, 1);
  for (const entry of before ? entriesOf(before) : []) addTo(sums, entryKey(entry), entry, -1);
  return [...sums.values()].filter(movesMoney);
}

function entryKey(entry: Entry): string {
  const { entry: name, kind, external_id, currency, country, happened_at } = entry;
  return JSON.stringify([name, kind, external_id, currency, country, happened_at]);
}

function addTo<E extends Entry>(sums: Map<string, E>, key: string, entry: E, sign: 1 | -1): void {
  const sum = sums.get(key);
  sums.set(key, {
    ...entry,
    original_amount: (sum?.original_amount ?? 0n) + BigInt(sign) * entry.original_amount,
    amount: (sum?.amount ?? 0n) + BigInt(sign) * entry.amount,
    tax: (sum?.tax ?? 0n) + BigInt(sign) * entry.tax,
    fee: (sum?.fee ?? 0n) + BigInt(sign) * entry.fee,
    sales: (sum?.sales ?? 0) + sign * entry.sales,
  });
}
