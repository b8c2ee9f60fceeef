/** What a batch makes: rows of the tables, and messages on the public topics. */
import type { NewRecord, LogRecord } from "../../stores/log/log.js";
import { type Fact, type Topic, factRecords } from "../../schemas/records/records.js";
import { bookedAtColumn } from "../../schemas/booked-at.js";
import { rejectColumns } from "../../workspaces/rejects/rejects.js";
import { factColumns, ledgerColumns, versionColumns } from "./money/money-tables.js";
import { changeColumns } from "./subscriptions/changes.js";
import { movementColumns } from "./subscriptions/movements.js";
import { sideColumns } from "./subscriptions/pools.js";
import type { SkuName } from "../../workspaces/catalogue/skus.js";
import { mapInTurns } from "../../runtime/lists.js";

/**
 * The columns of the tables that booking writes, in the order in which a batch is written: a repair
 * that sees a payment's ledger then also sees its facts.
 */
export const bookedTables = {
  transactions: `${versionColumns}, ${bookedAtColumn}`,
  money_facts: factColumns,
  ledger: `${ledgerColumns}, ${bookedAtColumn}`,
  unidentified_sides: sideColumns,
  subscription_changes: `${changeColumns}, ${bookedAtColumn}`,
  mrr_movements: `${movementColumns}, ${bookedAtColumn}`,
  rejects: rejectColumns,
} as const;
export type BookedTable = keyof typeof bookedTables;
export const bookedTableNames = Object.keys(bookedTables).filter(
  (name): name is BookedTable => name in bookedTables,
);

export type BookedRows = Partial<Record<BookedTable, readonly object[]>>;

export interface Message extends NewRecord {
  readonly topic: Topic;
  /**
   * ms since 1970: until then a newer message with its key takes its place; left out: it is sent at
   * once.
   */
  readonly waitsUntil?: number;
  /** The event to list as a reject if the message can never be published. */
  readonly about?: PublishedEvent;
}

interface PublishedEvent extends Pick<
  Fact,
  | "event_id"
  | "workspace"
  | "environment"
  | "provider"
  | "native_type"
  | "received_at"
  | "partition"
> {
  readonly offset: string;
}

export function publishedEvent(fact: Fact): PublishedEvent {
  const { event_id, workspace, environment, provider, native_type, received_at } = fact;
  const { partition, offset } = fact;
  const name = { event_id, workspace, environment, provider, native_type, received_at };
  return { ...name, partition, offset: offset.toString() };
}

export interface Booked {
  readonly rows: BookedRows;
  readonly messages: readonly Message[];
  /** Facts known by the same receipt: their raw events are replayed, not delivered again. */
  readonly again: readonly Fact[];
}

/** In log order. A fact that was published twice is included once, as first reported. */
export async function readFacts(records: readonly LogRecord[]): Promise<Fact[]> {
  const facts = new Map<string, Fact>();
  for (const fact of await mapInTurns(records, ({ value }) => factRecords.decode(value))) {
    if (!facts.has(fact.fact_id)) facts.set(fact.fact_id, fact);
  }
  return [...facts.values()];
}

export function skusOf(
  { workspace, environment, provider }: Omit<SkuName, "externalId">,
  sold: readonly { readonly external_id: string }[],
): SkuName[] {
  return [...new Set(sold.map(({ external_id }) => external_id))]
    .filter((externalId) => externalId !== "")
    .map((externalId) => ({ workspace, environment, provider, externalId }));
}
