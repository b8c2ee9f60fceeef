/** `GET /v1/transactions/{id}`: one transaction, and why it is what it is. */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import { notFound } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { journalQuery, type JournalRow } from "../events/journal-query.js";
import { withCustomers } from "../customers/names.js";
import { sendTable } from "../exports/send.js";
import { tables, versionsRows } from "../exports/tables.js";
import { type AsOf, readAsOf } from "../reading/as-of.js";
import type { PinnedAsOf } from "../reading/pages.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";
import { asOfThen, ledgerPayment } from "../transactions/status-as-of.js";
import { type EntryRow, paymentEntriesQuery } from "./entries-query.js";
import { factsOfPayment } from "./payment-facts.js";
import { transactionAnswer, type TransactionAnswer, transactionQueryParameters } from "./schema.js";
import { transactionVersionsQuery, type VersionRow } from "./versions-query.js";
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import type { Fact } from "../../schemas/records/records.js";
import { presentEntry, presentRawEvents, timeText } from "../events/evidence.js";
import { presentTransactionRow } from "../transactions/presenter.js";
import type { TransactionRow } from "../transactions/listed-row.js";

export const transactionRoute = readRoute(
  {
    path: "/v1/transactions/{id}",
    summary: "One transaction, its versions, the raw events behind them, its ledger entries",
    query: transactionQueryParameters,
    answer: transactionAnswer,
  },
  async (asked) => {
    const { api, service, ctx, access, query, format } = asked;
    const id = String(ctx.params["id"]);
    if (query.known_at === undefined) await followed(service, access, id);
    const clocks = await clocksOf(service, access, "all");
    const asOf = readAsOf(access, query, clocks);
    const pinned = { ...asOf, knownAt: asOf.knownAt ?? clocks.completeTo };
    const explained = await explain(service, pinned, id);
    if (explained === null) {
      throw notFound(
        "transaction_not_found",
        "There is no such transaction, or there was none yet at that time.",
      );
    }
    const data = presentExplained(explained, await asked.catalogue(), access.baseCurrency);
    if (format === null) {
      const [named] = await withCustomers(api.customers, asked, [data], ({ account }) => account);
      return { data: named, complete_to: completeText(clocks) };
    }
    sendTable(ctx, format, tables.versions, versionsRows(data), clocks);
    return null;
  },
);

/** How often it checks whether the explanation is complete. */
const lookEveryMs = 20;

/** People see a transaction before its ledger is complete, so a listed one is waited for. */
async function followed(
  service: Service,
  { workspace, environment }: Pick<AsOf, "workspace" | "environment">,
  id: string,
): Promise<void> {
  const now = Date.now();
  const newest = { workspace, environment, at: now, knownAt: now };
  const versions = await rowsOf<VersionRow>(service, transactionVersionsQuery(newest, id));
  const recordedAt = Number(versions.at(-1)?.recorded_at_ms ?? 0);
  const until = now + limits.explanationMsMax;
  while (
    (await service.watermark.completeTo("all", workspace)) < recordedAt &&
    Date.now() < until
  ) {
    await pause(lookEveryMs);
  }
}

async function explain(
  service: Service,
  asOf: PinnedAsOf,
  id: string,
): Promise<ExplainedTransaction | null> {
  const versions = await rowsOf<VersionRow>(service, transactionVersionsQuery(asOf, id));
  const newest = versions.at(-1);
  if (newest === undefined) return null;
  const isPast = asOf.at < asOf.knownAt;
  const [[shown = newest], facts, entries] = await Promise.all([
    isPast ? asOfThen(service.clickhouse, asOf, [newest]) : [newest],
    factsOfPayment(service.clickhouse, asOf, newest.provider, newest.payment),
    rowsOf<EntryRow>(service, paymentEntriesQuery(asOf, ledgerPayment(newest))),
  ]);
  const events = [...new Set(facts.map((fact) => fact.event_id))];
  const journal =
    events.length === 0
      ? []
      : await rowsOf<JournalRow>(service, journalQuery(asOf, events, limits.eventDeliveriesMax));
  return { shown, versions, facts, entries, journal };
}

interface ExplainedTransaction {
  readonly shown: TransactionRow;
  /** Oldest first; never empty. */
  readonly versions: readonly VersionRow[];
  /** In order of receipt. */
  readonly facts: readonly Fact[];
  readonly entries: readonly EntryRow[];
  readonly journal: readonly JournalRow[];
}

function presentExplained(
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
