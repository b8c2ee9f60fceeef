/** What a batch comes to: rows of the tables, and messages on the public topics. */
import type { NewRecord } from "../../stores/log/log.js";
import type { Fact, Topic } from "../../schemas/records/records.js";
import { bookedAtColumn } from "../../schemas/booked-at.js";
import { rejectColumns } from "../../workspaces/rejects/rejects.js";
import { factColumns, ledgerColumns, versionColumns } from "./money/money-tables.js";
import { changeColumns } from "./subscriptions/changes.js";
import { movementColumns } from "./subscriptions/movements.js";
import { sideColumns } from "./subscriptions/pools.js";

/**
 * The columns of the tables that booking writes, in the order in which a batch is written: a repair
 * that sees a payment's ledger sees its facts.
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

/** Objects by column name. */
export type BookedRows = Partial<Record<BookedTable, readonly object[]>>;

export interface Message extends NewRecord {
  readonly topic: Topic;
  /**
   * ms since 1970: it may wait so long for a newer one with its key, which then takes its place;
   * left out: not at all.
   */
  readonly waitsUntil?: number;
  /** The event it is about, to be listed where it can never be published; left out: none is. */
  readonly about?: PublishedEvent;
}

export interface PublishedEvent extends Pick<
  Fact,
  | "event_id"
  | "workspace"
  | "environment"
  | "provider"
  | "native_type"
  | "received_at"
  | "partition"
> {
  /** Where the raw event lies. */
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
  /** Facts that are known by the same receipt: their raw events are replayed, not redelivered. */
  readonly again: readonly Fact[];
}
