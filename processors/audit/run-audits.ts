/**
 * Audits beside booking, every night and whenever one is asked for (`/v1/manage/audits`): one at a
 * time among all processes, in small slices with rests. It only reports; repairing is a command
 * (`docs/operating.md`).
 */
import { schedule } from "node-cron";
import {
  type AuditRecord,
  askAudit,
  auditNews,
  endAudit,
  failAudit,
  hasAudits,
  isAuditOverdue,
  newestAudit,
  resumeAudits,
  takeAudit,
  wasAuditAsked,
} from "../../workspaces/audits.js";
import { tryExclusively } from "../../stores/postgres/leases.js";
import { Lookout } from "../../runtime/lookout.js";
import type { Service } from "../../service.js";
import { auditedTables } from "../../schemas/audit.js";
import { audit } from "./audit.js";

/** The same while booking goes on: a tenth of a second of one connection. */
const auditSliceRowsBesideBooking = 5_000;

/** UTC, after the day's quotes. The later hours repeat an audit that failed. */
const nightTimes = "30 3-8 * * *";
/** An audit that was asked for since then counts as this night's. */
const nightBeginsMs = 3 * 60 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;
const lookEveryMs = 2_000;
const calmLookEveryMs = 30_000;
/** Of the time of one connection. */
const shareMax = 1 / 4;

export function keepAudits(service: Service): void {
  const { log, logger, postgres, releases } = service;
  const calmEveryMs = log.shared ? lookEveryMs : calmLookEveryMs;
  const lookout = new Lookout(auditNews, { everyMs: lookEveryMs, calmEveryMs });
  gauges(service);
  const night = schedule(nightTimes, () => askForTheNight(service, new Date()), {
    timezone: "UTC",
  });
  const work = async (stop: AbortSignal): Promise<boolean> => {
    if (!(await hasAudits(postgres))) return false;
    // An audit that is marked as running while nobody holds the lease lost its process.
    await tryExclusively(postgres, "audit", async () => {
      await resumeAudits(postgres);
      const asked = await takeAudit(postgres, new Date());
      if (asked !== null) await runAudit(service, asked, stop);
    });
    return false;
  };
  releases.run("audits", (stop) =>
    lookout.watch(
      stop,
      () => work(stop),
      (err) => logger.error({ err }, "the upkeep of audits failed"),
    ),
  );
  releases.push("audits of the night", () => night.stop());
}

/** Every process asks by its own clock; only one audit a night follows. */
export async function askForTheNight(
  { logger, postgres }: Pick<Service, "logger" | "postgres">,
  now: Date,
): Promise<void> {
  const night = new Date(Math.floor(now.getTime() / dayMs) * dayMs + nightBeginsMs);
  try {
    await tryExclusively(postgres, "asking for the nightly audit", async () => {
      if (await wasAuditAsked(postgres, night)) return;
      await askAudit(postgres, { asked_by: "night", workspace: null }, now);
    });
    if (await isAuditOverdue(postgres, now)) logger.error("audit: the nightly audit is overdue");
  } catch (error) {
    logger.error({ err: error }, "the nightly audit could not be asked for");
  }
}

/** An audit that is stopped begins anew at the next start. */
async function runAudit(service: Service, asked: AuditRecord, stop: AbortSignal): Promise<void> {
  const { logger, postgres } = service;
  const { id, workspace } = asked;
  try {
    const sliceRowsMax = auditSliceRowsBesideBooking;
    const found = await audit(service, { workspace, repair: false, shareMax, sliceRowsMax, stop });
    await endAudit(postgres, id, found, new Date());
    const wrong = found.filter(({ differences }) => differences > 0);
    if (wrong.length === 0) logger.info({ audit: id }, "audit: no differences");
    for (const finding of wrong) logger.error({ audit: id, ...finding }, "audit: rows differ");
  } catch (error) {
    if (stop.aborted) return;
    logger.error({ err: error, audit: id }, "an audit failed");
    await failAudit(postgres, id, error instanceof Error ? error.message : "unknown", new Date());
  }
}

function gauges({ metrics, postgres }: Service): void {
  metrics.gauge(
    "audit_differences",
    "Rows that are not as they should be, in the newest audit of everything",
    "table",
    async () => {
      const newest = await newestAudit(postgres);
      if (newest === null) return {};
      const counts = auditedTables.map((table) => [
        table,
        newest.findings
          .filter((finding) => finding.table === table)
          .reduce((sum, { differences }) => sum + differences, 0),
      ]);
      return Object.fromEntries(counts);
    },
  );
  metrics.gauge("audit_overdue", "1 if no full audit has ended for too long", "of", async () => ({
    everything: Number(await isAuditOverdue(postgres, new Date())),
  }));
  metrics.gauge(
    "audit_ended_timestamp_seconds",
    "When the newest audit of everything ended, since 1970",
    "state",
    async () => {
      const newest = await newestAudit(postgres);
      const endedAt = newest?.ended_at;
      return newest && endedAt ? { [newest.state]: Math.floor(endedAt.getTime() / 1000) } : {};
    },
  );
}
