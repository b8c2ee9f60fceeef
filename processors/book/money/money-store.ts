/**
 * How booking reads and writes a batch: beside other writers, by inserting only what is missing; or
 * alone with the tables, where the rows that are missing follow from what was known before.
 */
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { allEnded } from "../../../runtime/all-settled.js";
import type { Fact } from "../../../schemas/records/records.js";
import { mapInTurns } from "../../yield-to-event-loop.js";
import { newVersions } from "../payment/payment-versions.js";
import type { KnownKeys } from "./known-keys.js";
import type { KnownPayment } from "./known-payment.js";
import type { MoneyOutcome } from "./money-outcome.js";
import {
  appendLedger,
  appendVersions,
  insertFacts,
  insertLedger,
  insertVersions,
  type NewPaymentVersions,
} from "./money-tables.js";
import { type Look, lookFirst, writeThenLook } from "./payment-fact-loader.js";

/** The payments a batch touches, with the facts of the batch. */
export interface KnownMoney {
  readonly payments: readonly KnownPayment[];
  /** Facts that nobody can have made a version of; null: others may have, of any. */
  readonly unseen: ReadonlySet<string> | null;
}

export interface MoneyStore<Known extends KnownMoney, Rest> {
  load(batch: readonly Fact[]): Promise<Known>;
  /** Resolves when the missing versions are there, with what is still to be done or written. */
  write(known: Known, outcomes: readonly MoneyOutcome[]): Promise<Rest>;
}

/** What is written a moment after the transactions people see: see sole-writer.ts. */
export interface FollowingRows {
  readonly missing: readonly Fact[];
  readonly news: readonly NewPaymentVersions[];
  /** Its messages, of which some may wait. */
  readonly published: Promise<void>;
}

/** @param shared other processes write to these tables */
export function besideOthers(
  clickhouse: ClickHouse,
  shared: boolean,
): MoneyStore<KnownMoney, { readonly written: Promise<void> }> {
  return {
    // The batch's facts are inserted first, so that every writer can see them. What was reported
    // before by another delivery of the same event is of no consequence.
    load: async (batch) => ({
      payments: await writeThenLook(clickhouse, batch, shared),
      // A link, reported to two partitions, both may book at once.
      unseen: null,
    }),
    // The ledger in parallel with the rest. A payment that has newer facts by now is left to the
    // process that wrote them, which checks as well.
    async write(_known, outcomes) {
      const written = insertLedger(clickhouse, outcomes, shared);
      // The caller awaits it later; until then a failure must not count as unhandled.
      written.catch(() => undefined);
      await insertVersions(clickhouse, outcomes);
      return { written };
    },
  };
}

/** Facts and ledger follow later, with those of other batches (`writeFollowing`). */
export function alone(
  clickhouse: ClickHouse,
  keys: KnownKeys,
): MoneyStore<KnownMoney & Look, readonly NewPaymentVersions[]> {
  return {
    async load(batch) {
      const look = await lookFirst(clickhouse, batch, keys);
      return { ...look, unseen: new Set(look.missing.map(({ fact_id }) => fact_id)) };
    },
    async write({ before }, outcomes) {
      const news = await mapInTurns(outcomes, (outcome) =>
        newsOf(outcome, before.get(outcome.payment) ?? []),
      );
      await appendVersions(clickhouse, news);
      return news;
    },
  };
}

/** @param before facts of the payment that are booked */
function newsOf(outcome: MoneyOutcome, before: readonly Fact[]): NewPaymentVersions {
  const { payment } = outcome;
  const { ledger, versions } = newVersions(payment.payment, payment.facts, outcome, before);
  const inserted = new Set(outcome.inserted);
  return {
    payment,
    ledger,
    versions: versions.filter((version) => inserted.has(version)),
  };
}

export async function writeFollowing(
  clickhouse: ClickHouse,
  batches: readonly FollowingRows[],
): Promise<void> {
  // After a failure the tables are read, so no write may still be running.
  await allEnded([
    insertFacts(
      clickhouse,
      batches.flatMap(({ missing }) => missing),
      false,
    ),
    appendLedger(
      clickhouse,
      batches.flatMap(({ news }) => news),
    ),
    ...batches.map(({ published }) => published),
  ]);
}
