/** `GET /v1/transactions/{id}`: one transaction, and why it is what it is. */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import { notFound } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { type JournalRow, journalQuery } from "../events/journal-query.js";
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
import { type ExplainedTransaction, presentExplained } from "./presenter.js";
import { transactionQueryParameters, transactionAnswer } from "./schema.js";
import { type VersionRow, transactionVersionsQuery } from "./versions-query.js";

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
