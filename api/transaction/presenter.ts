/** The JSON of one transaction with its versions, each with the raw events behind it. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import type { TransactionAnswer } from "./schema.js";
import type { Fact } from "../../schemas/records/records.js";
import type { JournalRow } from "../events/journal-query.js";
import type { EntryRow } from "./entries-query.js";
import type { VersionRow } from "./versions-query.js";
import { presentEntry, presentRawEvents, timeText } from "../events/evidence.js";
import { presentTransactionRow } from "../transactions/presenter.js";
import type { TransactionRow } from "../transactions/listed-row.js";

export interface ExplainedTransaction {
  readonly shown: TransactionRow;
  /** Oldest first; never empty. */
  readonly versions: readonly VersionRow[];
  /** In order of receipt. */
  readonly facts: readonly Fact[];
  readonly entries: readonly EntryRow[];
  readonly journal: readonly JournalRow[];
}

export function presentExplained(
  explained: ExplainedTransaction,
  catalogue: Catalogue,
  baseCurrency: string,
): TransactionAnswer["data"] {
  const { shown, versions, facts, entries, journal } = explained;
  const behind = factsBehind(versions, facts);
  const views = versions.map((row, index) => ({
    ...presentTransactionRow(row, catalogue),
    recorded_at: timeText(row.recorded_at_ms),
    booked_at: timeText(row.booked_at_ms),
    event_id: row.event_id,
    fx_source: row.fx_source,
    fx_edition: editionOf(row, facts),
    events: presentRawEvents(behind[index] ?? [], journal),
  }));
  const last = views.at(-1);
  return {
    ...presentTransactionRow(shown, catalogue),
    payment: shown.payment,
    fx_source: last?.fx_source ?? "",
    fx_edition: last?.fx_edition ?? null,
    versions: views,
    ledger: entries.map((row) => presentEntry(row, catalogue, baseCurrency)),
  };
}

/**
 * Each fact stands with the first version that knows it: a version knows all facts up to its
 * newest, in order of receipt. Later facts that changed nothing stand with the last.
 */
function factsBehind(versions: readonly VersionRow[], facts: readonly Fact[]): Fact[][] {
  const behind: Fact[][] = versions.map(() => []);
  for (const fact of facts) {
    const first = versions.findIndex((version) => isKnownBy(fact, version));
    // Of no version: -1 is the last one.
    behind.at(first)?.push(fact);
  }
  return behind;
}

function isKnownBy(fact: Fact, version: VersionRow): boolean {
  const recordedAt = Number(version.recorded_at_ms);
  return (
    fact.received_at < recordedAt ||
    (fact.received_at === recordedAt && fact.fact_id <= version.fact_id)
  );
}

/** The rate is that of one of the facts, the first where several had the same one. */
function editionOf(version: VersionRow, facts: readonly Fact[]): number | null {
  const teller = version.type === "refund" ? "Refund" : "Payment";
  const reported = facts.find(
    ({ body, quote }) =>
      teller in body &&
      quote !== null &&
      quote.currency === version.original_currency &&
      quote.rate === version.fx_rate &&
      quote.date === version.fx_date &&
      quote.source === version.fx_source,
  );
  return reported?.quote?.edition ?? null;
}
