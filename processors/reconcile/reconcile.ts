/**
 * Compares one month of an integration with the provider's lists, read page by page from its API.
 * Changes nothing.
 */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import type { Unread } from "../../providers/api/ask-json.js";
import type { HistoryList, ListedPayment, ListedTax, Span } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import { startOfMonth } from "../../schemas/months.js";
import { endedBackfills } from "../../workspaces/history/backfills.js";
import { firstWebhookOf } from "../../workspaces/history/coverage.js";
import type { Integration } from "../../workspaces/integrations.js";
import type { Compared } from "../../workspaces/history/reconciliations.js";
import type { BackfillingService } from "../backfill/backfill.js";
import { readPage } from "../backfill/read-page.js";
import { besideMonthMs, bookedAround, eventsOf, unbookedOf } from "./booked.js";
import { bookedDisputes, transactionsOf, disputePairsOf } from "./disputes.js";
import { comparedCosts, withTaxes } from "./compare-costs.js";
import { agrees, monthReport, type Pair, pairsOf } from "./compare-month.js";
import { ownFigures } from "./own-figures.js";

/** How long it waits until all is booked that was received while the list was read. */
const bookedMsMax = 60_000;
const lookEveryMs = 100;

/** @param month YYYY-MM */
export async function reconcileMonth(
  service: BackfillingService,
  integrationId: string,
  month: string,
): Promise<Compared | Unread> {
  const integration = await service.integrations.byId(integrationId);
  const provider = integration && service.providers.get(integration.provider);
  const { backfill } = provider ?? {};
  if (!integration || !provider || !backfill || provider.notReconciled !== undefined) {
    return {
      for: "good",
      problem: "The integration was deleted, or has no credentials or no list.",
    };
  }
  const span = spanOf(month);
  const comparedAt = new Date();

  // 1. Theirs.
  const listed = await listedIn(service, provider, integration, span);
  if ("problem" in listed) return listed;
  const readAt = Date.now();
  if (!(await isBooked(service, integration, readAt))) {
    return { for: "now", problem: "What was received is not booked yet." };
  }

  const own = await ownFigures(service, provider, integration, span);
  if ("problem" in own) return own;

  // 2. Ours, without what came by another integration of the provider.
  const booked = await bookedAround(service.clickhouse, integration, span);
  const listsDisputes = backfill.comparedBesides !== undefined;
  const disputed = listsDisputes ? await bookedDisputes(service.clickhouse, integration, span) : [];
  if (booked === null || disputed === null) return tooMany;
  const paired = await pairsOf(listed.payments.values(), booked, span);
  const disputes = await disputePairsOf(listed.disputes.values(), disputed, span);
  const pairs = await ofIntegration(service, integration, paired);
  const disputePairs = await ofIntegration(service, integration, disputes);

  // 3. Why they differ.
  const differing = [...pairs, ...disputePairs].filter((pair) => !agrees(pair));
  const missing = differing.flatMap(({ listed: one }) => one?.dispute ?? one?.payment ?? []);
  const [webhooksSince, read, unbooked, transactions] = await Promise.all([
    firstWebhookOf(service.clickhouse, integration.workspace, integration.id),
    endedBackfills(service.postgres, integration.id),
    unbookedOf(service, provider, integration, missing),
    transactionsOf(
      service.clickhouse,
      integration,
      disputePairs.filter((pair) => !agrees(pair)),
    ),
  ]);
  const report = await monthReport([...pairs, ...disputePairs], {
    listedSince: comparedAt.getTime(),
    webhooksSince,
    read: read.map(({ from, to }) => ({ from: from.getTime(), to: to.getTime() })),
    unbooked,
    canBeListed: backfill.canBeListed ?? (() => true),
    transactions,
  });
  const costs = await comparedCosts(pairs, comparedAt.getTime());
  return { report: { ...report, ...costs, ...own }, comparedAt };
}

/** ms since 1970; the end is exclusive. */
function spanOf(month: string): Span {
  const from = Date.parse(`${month}-01T00:00:00Z`);
  return { from, to: startOfMonth(from, 1) };
}

interface Listed {
  readonly payments: ReadonlyMap<string, ListedPayment>;
  readonly disputes: ReadonlyMap<string, ListedPayment>;
}

/** By name, because an object may be on two pages. */
async function listedIn(
  service: BackfillingService,
  provider: Provider,
  integration: Integration,
  { from, to: end }: Span,
): Promise<Listed | Unread> {
  const to = Math.min(end - 1, Date.now());
  const { lists = [], comparedBesides = [] } = provider.backfill ?? {};
  const [payments, disputes] = [new Map<string, ListedPayment>(), new Map<string, ListedPayment>()];
  const taxes = new Map<string, ListedTax>();
  const read = async (list: HistoryList, span: Span): Promise<Unread | null> => {
    let after: string | null = null;
    do {
      const page = await readPage(service, { provider, integration, list, span }, after);
      if ("problem" in page) return page;
      for (const one of page.payments) {
        if (one.at >= end) continue;
        if (one.dispute === undefined) payments.set(one.payment, one);
        else disputes.set(`${one.dispute} ${one.at} ${one.amount}`, one);
      }
      for (const tax of page.taxes ?? []) taxes.set(`${tax.payment} ${tax.purchase}`, tax);
      const rows = Math.max(payments.size, disputes.size, taxes.size);
      if (rows > limits.reconciledPaymentsMax) return tooMany;
      after = page.next;
    } while (after !== null);
    return null;
  };
  for (const list of lists.filter(({ reportsPayments }) => reportsPayments)) {
    const unread = await read(list, { from, to });
    if (unread !== null) return unread;
  }
  for (const list of comparedBesides) {
    const unread = await read(list, { from: from - besideMonthMs, to });
    if (unread !== null) return unread;
  }
  return { payments: await withTaxes(payments, taxes.values()), disputes };
}

async function isBooked(
  { stopping, watermark }: BackfillingService,
  { workspace }: Integration,
  receivedAt: number,
): Promise<boolean> {
  const until = performance.now() + bookedMsMax;
  while (performance.now() < until && !stopping.aborted) {
    // With the journal, which says by which integration an event came.
    if ((await watermark.completeTo("journaled", workspace)) > receivedAt) return true;
    await pause(lookEveryMs);
  }
  return false;
}

async function ofIntegration(
  { clickhouse }: BackfillingService,
  integration: Integration,
  pairs: readonly Pair[],
): Promise<Pair[]> {
  const alone = pairs.flatMap(({ listed, booked }) =>
    listed === null && booked !== null ? [booked.event] : [],
  );
  const own = await eventsOf(clickhouse, integration, alone);
  return pairs.filter(({ listed, booked }) => listed !== null || own.has(booked?.event ?? ""));
}

const tooMany: Unread = {
  for: "good",
  problem: `The month has more than ${limits.reconciledPaymentsMax} payments.`,
};
