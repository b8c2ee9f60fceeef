/**
 * What should be recorded about one payment: after each fact, in order of receipt, the ledger rows
 * that make the difference and the transaction as then known. Pure; the booking step inserts what
 * is not there yet.
 */
import { limits } from "../config.js";
import type { Fact } from "../schemas/records.js";
import type { Entry } from "./entries.js";
import { type Document, paymentState } from "./payment.js";
import { Prefix } from "./prefix.js";

/** A version of a transaction and the fact that made it. */
export interface Version {
  readonly document: Document;
  /** How many facts it knows. */
  readonly version: number;
  readonly fact: Fact;
  /** It differs from the version before. */
  readonly changed: boolean;
}

export interface LedgerRow extends Entry {
  readonly fact: Fact;
}

export interface Recordings {
  readonly versions: readonly Version[];
  readonly ledger: readonly LedgerRow[];
}

/** What should be recorded, and the facts it follows from: others could be left out. */
export interface Told extends Recordings {
  readonly counted: ReadonlySet<Fact>;
}

/** @param facts of one payment with its purchases, in order of receipt */
export function recordings(facts: readonly Fact[]): Told {
  const versions: Version[] = [];
  const ledger: LedgerRow[] = [];
  const prefix = new Prefix();
  let document: Document | null = null;
  let entriesBefore = new Map<string, Entry>();
  let textBefore = "";
  for (const [index, fact] of facts.entries()) {
    let text = textBefore;
    if (prefix.add(fact)) {
      const state = paymentState(prefix.facts);
      const entriesAfter = summed(state.entries);
      for (const entry of difference(entriesAfter, entriesBefore)) ledger.push({ ...entry, fact });
      entriesBefore = entriesAfter;
      ({ document } = state);
      text = textOf(document);
    }
    if (document === null) continue;
    versions.push({ document, version: index + 1, fact, changed: text !== textBefore });
    textBefore = text;
  }
  return { versions, ledger, counted: prefix.counted };
}

/**
 * The earliest by receipt count, up to `factsPerPaymentMax` that say anything, so that a replay
 * gives the same figures.
 */
export function bookable(facts: readonly Fact[]): readonly Fact[] {
  if (facts.length <= limits.factsPerPaymentMax) return facts;
  const prefix = new Prefix();
  let said = 0;
  for (const [index, fact] of facts.entries()) {
    if (prefix.add(fact)) said += 1;
    if (said > limits.factsPerPaymentMax) return facts.slice(0, index);
  }
  return facts;
}

function textOf(document: Document | null): string {
  return JSON.stringify(document, (_key, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
}

/** What `after` records that `before` did not, the facts of both told in order of receipt. */
export function newRecordings(after: Recordings, before: Recordings): Recordings {
  const stored = new Set(before.versions.map(versionKey));
  const rows = new Map<string, LedgerRow>();
  for (const row of after.ledger) addTo(rows, rowKey(row), row, 1);
  for (const row of before.ledger) addTo(rows, rowKey(row), row, -1);
  return {
    versions: after.versions.filter((version) => !stored.has(versionKey(version))),
    ledger: [...rows.values()].filter(movesMoney),
  };
}

function versionKey({ document, version, fact }: Version): string {
  return JSON.stringify([document.timestamp, fact.received_at, fact.fact_id, version]);
}

function rowKey({ fact, ...entry }: LedgerRow): string {
  return JSON.stringify([entryKey(entry), fact.fact_id, fact.event_id, fact.received_at]);
}

/** Entries by what tells them apart; equal ones are added up. */
function summed(entries: readonly Entry[]): Map<string, Entry> {
  const sums = new Map<string, Entry>();
  for (const entry of entries) addTo(sums, entryKey(entry), entry, 1);
  return sums;
}

function difference(after: Map<string, Entry>, before: Map<string, Entry>): Entry[] {
  const sums = new Map<string, Entry>();
  for (const [key, entry] of after) addTo(sums, key, entry, 1);
  for (const [key, entry] of before) addTo(sums, key, entry, -1);
  return [...sums.values()].filter(movesMoney);
}

function movesMoney({ original_amount: original, amount, tax, fee, sales }: Entry): boolean {
  return original !== 0n || amount !== 0n || tax !== 0n || fee !== 0n || sales !== 0;
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
