/**
 * Compares months with providers' lists: the last months every night, and others on demand
 * (`…/reconciliation`); so too fetches stores' reports (`…/reports/fetch`). One at a time among all
 * processes.
 */
import { schedule } from "node-cron";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { Lookout } from "../../runtime/lookout.js";
import { tryExclusively } from "../../stores/postgres/leases.js";
import { isStoreAway } from "../../stores/store-away.js";
import { monthNumber, monthText, monthsOf, startOfMonth } from "../../schemas/months.js";
import { announce } from "../../workspaces/webhooks/announce.js";
import {
  askReconciliations,
  type Compared,
  type DueReconciliation,
  dueReconciliation,
  endReconciliation,
  type MonthScore,
  monthScores,
  reconciliationNews,
} from "../../workspaces/history/reconciliations.js";
import { type BackfillingService, nextPause } from "../backfill/backfill.js";
import {
  askReportFetch,
  type DueFetch,
  dueReportFetch,
  endReportFetch,
} from "../../workspaces/history/report-fetches.js";
import { type Fetched, fetchReports } from "./fetch-reports.js";
import { reconcileMonth } from "./reconcile.js";

/**
 * UTC; the later hours repeat what failed. What was compared since the first counts as this
 * night's.
 */
const nightTimes = "15 1-4 * * *";
const nightBeginsMs = 60 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;
/** Integrations begin one after another over this time. */
const spreadMs = 3 * 60 * 60 * 1000;
/** Older months are compared on demand. */
const nightlyMonths = 3;
const lookEveryMs = 500;
const calmLookEveryMs = 30_000;
const serviceFailed = "The service failed on it; its log has the reason.";

export async function runReconciliations(service: BackfillingService): Promise<void> {
  const { log, logger, postgres, stopping } = service;
  const calmEveryMs = log.shared ? lookEveryMs : calmLookEveryMs;
  const lookout = new Lookout(reconciliationNews, { everyMs: lookEveryMs, calmEveryMs });
  gauges(service);
  /** By month whose list is unavailable: ms of the next pause. */
  const pauses = new Map<string, number>();
  const night = schedule(nightTimes, () => askForTheNight(service, new Date()), {
    timezone: "UTC",
  });
  const work = async () => {
    const now = new Date();
    const due = await dueReconciliation(postgres, now);
    const fetch = await dueReportFetch(postgres, now);
    if (due === null && fetch === null) return false;
    const done = await tryExclusively(postgres, "reconciliation", async () => {
      if (due !== null) await compare(service, due, pauses);
      if (fetch !== null) await fetchDue(service, fetch, pauses);
    });
    return done === null ? false : "more";
  };
  await lookout.watch(stopping, work, (err) =>
    logger.error({ err }, "a month could not be compared; trying again"),
  );
  await night.stop();
}

/** A comparison that is stopped begins anew at the next start. */
async function compare(
  service: BackfillingService,
  due: DueReconciliation,
  pauses: Map<string, number>,
): Promise<void> {
  const { logger, postgres, stopping } = service;
  const { integration, month } = due;
  const name = `${integration} ${month}`;
  try {
    const found = await reconcileMonth(service, integration, month);
    if (stopping.aborted) return;
    if ("problem" in found && found.for === "now") {
      const againAt = new Date(Date.now() + nextPause(pauses, name));
      return await endReconciliation(postgres, due, { problem: found.problem, againAt });
    }
    pauses.delete(name);
    if ("problem" in found) {
      return await endReconciliation(postgres, due, { problem: found.problem, againAt: null });
    }
    await announceDifferences(service, due, found);
    await endReconciliation(postgres, due, found);
    const { differences_total: differences, reasons, score_pct: scorePct } = found.report;
    if (differences > 0) {
      const where = { integration, month };
      logger.warn({ ...where, reasons, scorePct }, "a month differs from the provider");
    }
  } catch (error) {
    if (stopping.aborted || isStoreAway(error)) throw error;
    pauses.delete(name);
    logger.error({ err: error, integration, month }, "a comparison failed");
    await endReconciliation(postgres, due, { problem: serviceFailed, againAt: null });
  }
}

async function fetchDue(
  service: BackfillingService,
  due: DueFetch,
  pauses: Map<string, number>,
): Promise<void> {
  const { logger, postgres, stopping } = service;
  const { integration } = due;
  const name = `${integration} reports`;
  const end = (ended: Fetched, againAt: Date | null = null) =>
    endReportFetch(postgres, due, { ...ended, againAt }, new Date());
  try {
    const found = await fetchReports(service, integration, new Date());
    if (stopping.aborted) return;
    const { for: until, problem, kept } = found;
    if (problem !== null) logger.warn({ integration, problem }, "reports could not be fetched");
    if (until === "now") return await end(found, new Date(Date.now() + nextPause(pauses, name)));
    pauses.delete(name);
    await end({ problem, kept });
  } catch (error) {
    if (stopping.aborted || isStoreAway(error)) throw error;
    pauses.delete(name);
    logger.error({ err: error, integration }, "a fetch of reports failed");
    await end({ problem: serviceFailed, kept: 0 });
  }
}

/** Sent to the workspace's webhooks once, until the figures change. */
async function announceDifferences(
  service: BackfillingService,
  { integration: id, month }: DueReconciliation,
  { report, comparedAt: at }: Compared,
): Promise<void> {
  const { differences_total: differences, score_pct } = report;
  const found = differences === 0 ? null : await service.integrations.byId(id);
  if (found === null) return;
  const { workspace, environment, provider } = found;
  const compared_at = at.toISOString();
  await announce(service, {
    workspace,
    environment,
    type: "reconciliation.differs",
    id: `${id} ${month} ${differences} ${score_pct}`,
    subject: { provider },
    at,
    data: { integration: id, provider, month, score_pct, differences, compared_at },
  });
}

/** Every process asks for every integration, by its own clock. */
export async function askForTheNight(
  {
    integrations,
    logger,
    postgres,
    providers,
  }: Pick<BackfillingService, "integrations" | "logger" | "postgres" | "providers">,
  now: Date,
): Promise<void> {
  const night = new Date(Math.floor(now.getTime() / dayMs) * dayMs + nightBeginsMs);
  try {
    const rows = await postgres.query<{ id: string }>(
      "SELECT id FROM integrations WHERE deleted_at IS NULL AND provider = ANY($1) ORDER BY id",
      [
        [...providers.values()]
          .filter(({ notReconciled: why, fetchedReports }) => why === undefined || fetchedReports)
          .map(({ token }) => token),
      ],
    );
    const first = startOfMonth(now.getTime(), 1 - nightlyMonths);
    const months = monthsOf({ from: first, to: now.getTime() }).map(({ month }) => month);
    for (const [place, { id }] of rows.entries()) {
      const found = await integrations.byId(id);
      const [credentials] = found?.credentials ?? [];
      if (!found || credentials === undefined) continue;
      const dueAt = new Date(now.getTime() + Math.floor((place * spreadMs) / rows.length));
      const { api, fetchedReports, notReconciled } = providers.get(found.provider) ?? {};
      if (notReconciled === undefined && api?.allowsCalls(credentials)) {
        await askReconciliations(postgres, { integration: id, months }, dueAt, night);
      }
      if (fetchedReports?.api.allowsCalls(credentials)) {
        await askReportFetch(postgres, id, dueAt, night);
      }
    }
  } catch (error) {
    logger.error({ err: error }, "the nightly comparison could not be asked for");
  }
}

function gauges({ metrics, postgres }: BackfillingService): void {
  const scores = new ExpiringCache({
    ttlMs: scoresFreshMs,
    entriesMax: 1,
    load: () => monthScores(postgres, monthText(monthNumber(Date.now()) - 11)),
  });
  const gauge = (name: string, help: string, valueOf: (month: MonthScore) => number | null) =>
    metrics.gaugeBy(`reconciliation_${name}`, help, ["integration", "month"], async () =>
      (await scores.get("")).flatMap((one) => {
        const { integration, month } = one;
        const value = valueOf(one);
        return value === null ? [] : [{ labels: { integration, month }, value }];
      }),
    );
  gauge(
    "agreement_ratio",
    "Share of the smallest units on which we and the provider's list agree",
    ({ score }) => (score === null ? null : score / 100),
  );
  gauge(
    "differences",
    "Payments, refunds and disputes that differ from the provider's list",
    ({ differences }) => differences,
  );
  gauge(
    "cost_differences",
    "Payments whose fee or tax differs from the provider's list; not in the score",
    ({ costDifferences }) => costDifferences,
  );
  gauge("compared", "1 if the month could be compared, else 0", ({ differences }) =>
    differences === null ? 0 : 1,
  );
}

/** The gauges of one scrape share the scores. */
const scoresFreshMs = 5_000;
