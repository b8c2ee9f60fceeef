/**
 * What should be recorded about one payment: after each fact, in order of receipt, the ledger rows
 * that make the difference and the transaction as then known. Pure; the booking step inserts what
 * is not there yet.
 */
import type { Fact } from "../schemas/records.js";
import type { Entry } from "./entries.js";
import { type Document, paymentState } from "./payment.js";

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

/** @param facts of one payment with its purchases, in order of receipt */
export function recordings(facts: readonly Fact[]): Recordings {
  const versions: Version[] = [];
  const ledger: LedgerRow[] = [];
  let entriesBefore = new Map<string, Entry>();
  let textBefore = "";
  for (const [index, fact] of facts.entries()) {
    const { document, entries } = paymentState(facts.slice(0, index + 1));
    const entriesAfter = summed(entries);
    for (const entry of difference(entriesAfter, entriesBefore)) ledger.push({ ...entry, fact });
    entriesBefore = entriesAfter;
    if (document === null) continue;
    const text = JSON.stringify(document, (_key, value: unknown) =>
      typeof value === "bigint" ? value.toString() : value,
    );
    versions.push({ document, version: index + 1, fact, changed: text !== textBefore });
    textBefore = text;
  }
  return { versions, ledger };
}

/** Entries by what tells them apart; equal ones are added up. */
function summed(entries: readonly Entry[]): Map<string, Entry> {
  const sums = new Map<string, Entry>();
  for (const entry of entries) add(sums, entry, 1);
  return sums;
}

function difference(after: Map<string, Entry>, before: Map<string, Entry>): Entry[] {
  const sums = new Map<string, Entry>();
  for (const entry of after.values()) add(sums, entry, 1);
  for (const entry of before.values()) add(sums, entry, -1);
  return [...sums.values()].filter(
    ({ original_amount: original, amount, tax, fee, sales }) =>
      original !== 0n || amount !== 0n || tax !== 0n || fee !== 0n || sales !== 0,
  );
}

function add(sums: Map<string, Entry>, entry: Entry, sign: 1 | -1): void {
  const { entry: name, kind, external_id, currency, country, happened_at } = entry;
  const key = JSON.stringify([name, kind, external_id, currency, country, happened_at]);
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
