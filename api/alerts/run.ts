/**
 * Looks at alerts and sends what fired. Every process of the role api does; a claim decides which
 * one looks at an alert, and which one sends a message. Sending has a loop of its own, so a slow
 * receiver delays no look.
 */
import { limits } from "../../config.js";
import { News, Lookout } from "../../runtime/lookout.js";
import { ApiError } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import {
  type Alert,
  alertNews,
  claimAlert,
  dueAlerts,
  noteLooked,
  noteNotLooked,
} from "../../workspaces/alerts/alerts.js";
import type { FoundFiring } from "../../workspaces/alerts/firings.js";
import { announce } from "../../workspaces/webhooks/announce.js";
import { integrationsOf } from "../../workspaces/integration-records.js";
import { segmentNames } from "../../workspaces/segments.js";
import { type Workspace, findWorkspace } from "../../workspaces/workspaces.js";
import type { Unsubscribing } from "../digests/unsubscribe.js";
import type { Reads } from "../reading/in-process.js";
import { watch } from "./conditions.js";
import { deliver } from "./deliver.js";
import { type Naming, sentenceOf, titleOf } from "./sentences.js";
import { readWatched } from "./watched.js";

const lookEveryMs = 1_000;
const calmLookEveryMs = 30_000;

/** There are messages to be sent. */
const messageNews = new News();

export function startAlerts(service: Service, reads: Reads, unsubscribing: Unsubscribing): void {
  const failed = (err: unknown): void => {
    service.logger.error({ err }, "alerts could not be looked after; again soon");
  };
  const options = { everyMs: lookEveryMs, calmEveryMs: calmLookEveryMs };
  const look = async () => {
    await lookAtDue(service, reads, new Date());
    return false;
  };
  service.releases.run("alerts", (stop) =>
    new Lookout(alertNews, options).watch(stop, look, failed),
  );
  service.releases.run("messages of alerts", (stop) => {
    const send = () => deliver({ ...service, unsubscribing }, new Date(), stop);
    return new Lookout(messageNews, options).watch(stop, send, failed);
  });
}

/** One after another, because people who wait in the dashboard come first. */
async function lookAtDue(service: Service, reads: Reads, now: Date): Promise<void> {
  const due = await dueAlerts(service.postgres, now);
  for (const alert of due) await lookAt(service, reads, alert, now);
}

async function lookAt(service: Service, reads: Reads, due: Alert, now: Date): Promise<void> {
  const { postgres, logger } = service;
  const claimed = await claimAlert(postgres, due, now);
  if (claimed === null) return;
  try {
    await judge(service, reads, claimed, now);
  } catch (err) {
    logger.warn({ err, alert: claimed.id }, "an alert could not be looked at");
    const refused =
      err instanceof ApiError ? err.message : "the log of the service has the reason.";
    await noteNotLooked(postgres, claimed, `The last look failed: ${refused}`);
  }
}

async function judge(service: Service, reads: Reads, alert: Alert, now: Date): Promise<void> {
  const { postgres } = service;
  const { rule, origin } = alert;
  const workspace = await findWorkspace(postgres, alert.workspace);
  if (workspace === null) throw new Error(`the workspace of ${alert.id} is gone`);
  const before = {
    isMet: alert.is_met,
    firedAt: alert.fired_at?.getTime() ?? null,
    judgedTo: Math.max(alert.judged_to.getTime(), now.getTime() - limits.alertHistoryMs),
  };
  const watched = await readWatched({ service, reads, workspace, origin }, rule, before.judgedTo);
  const { after, firings, endedAt } = watch(
    watched.series,
    watched.condition,
    before,
    limits.alertRestMs,
  );
  const naming = firings.length === 0 ? null : await namingOf(service, workspace);
  const title = naming === null ? "" : titleOf(rule, naming);
  const looked = {
    isMet: after.isMet,
    judgedTo: new Date(after.judgedTo),
    firedAt: after.firedAt === null ? null : new Date(after.firedAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
    dueAt: new Date(nextLook(alert, after.isMet ? null : watched.notBefore, now.getTime())),
    firings: firings.map((firing) => ({
      at: new Date(firing.point.at),
      value: firing.value,
      sentence: naming === null ? "" : sentenceOf(rule, firing, naming),
      link: watched.linkOf(firing.point),
      endedAt: firing.endedAt === null ? null : new Date(firing.endedAt),
    })),
  };
  // Announced before it is stored, since a stored firing is not found again; a second announcement
  // sends nothing.
  for (const [index, firing] of looked.firings.entries()) {
    await announceFired(service, alert, index, title, firing);
  }
  await noteLooked(postgres, alert, looked, now);
  if (firings.length > 0) messageNews.announce();
}

/**
 * To the webhooks of the workspace, whatever the channels of the alert.
 * @param index of the firing among those of this look
 */
async function announceFired(
  service: Service,
  { id: alert, workspace, judged_to: judgedTo }: Alert,
  index: number,
  title: string,
  { at, value, sentence, link }: FoundFiring,
): Promise<void> {
  await announce(service, {
    workspace,
    environment: "live",
    type: "alert.fired",
    // The moment of a running figure is that of the look.
    id: `${alert} ${judgedTo.getTime()} ${index}`,
    subject: {},
    at: new Date(),
    data: { alert, title, sentence, value, fired_at: at.toISOString(), link },
  });
}

/**
 * At whole steps, so that alerts of one workspace fire together.
 * @param now ms since 1970
 */
function nextLook({ rule }: Alert, notBefore: number | null, now: number): number {
  const everyMs = rule.on === "figure" ? limits.alertFigureLookMs : limits.alertLookMs;
  return (Math.floor(Math.max(now, notBefore ?? 0) / everyMs) + 1) * everyMs;
}

const namedMax = 200;

/** The names of the workspace's integrations. */
export async function namingOf(
  { postgres }: Pick<Service, "postgres">,
  { id, base_currency: currency }: Workspace,
): Promise<Naming> {
  const tenant = { workspace: id, environment: "live" } as const;
  const rows = await integrationsOf(postgres, tenant, namedMax);
  return {
    currency,
    names: new Map(rows.map((row) => [row.id, row.name ?? row.provider])),
    segments: await segmentNames(postgres, id),
  };
}
