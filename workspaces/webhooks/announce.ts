/** Sends endpoints what is no record on a topic: alerts, silence, differences. */
import type { z } from "zod";
import { type AnnouncedType, announced } from "../../schemas/http/outbound/webhooks.js";
import { webhookMessageId } from "../../schemas/ids.js";
import type { Service } from "../../service.js";
import { type NewDelivery, activeEndpoints, addDeliveries, messageBody } from "./deliveries.js";
import { disableEndpoint, type Endpoint, type DisabledBy } from "./endpoints.js";
import { type HappenedEvent, isWanted } from "./wanted.js";
import { limits } from "../../config.js";
import { missingMailSettings, sendEmail } from "../channels/email.js";
import { recordActivity } from "../members/activity.js";
import { listMembers } from "../members/memberships.js";

type Needs = Pick<Service, "config" | "logger" | "postgres" | "vault">;

interface Announcement<Type extends AnnouncedType> extends Omit<HappenedEvent, "type"> {
  readonly type: Type;
  /** The same when it is announced again: it is sent once. */
  readonly id: string;
  readonly data: z.input<(typeof announced)[Type]>;
}

/** @throws PostgresUnavailable; announced again, nothing is sent twice */
export async function announce<Type extends AnnouncedType>(
  service: Needs,
  given: Announcement<Type>,
): Promise<void> {
  const { type, id, data, ...event } = given;
  const endpoints = await activeEndpoints(service.postgres, [event.workspace]);
  const wanting = endpoints.filter((endpoint) => isWanted(endpoint, { ...event, type }));
  if (wanting.length === 0) return;
  const body = messageBody(event, type, announced[type].parse(data));
  const message = webhookMessageId(type, event.workspace, event.environment, id);
  const deliveries = wanting.map((one) => ({ endpoint: one.id, message, type, lane: type, body }));
  await putIn(service, endpoints, deliveries);
}

/** @param endpoints that the deliveries are for */
export async function putIn(
  service: Needs,
  endpoints: readonly Endpoint[],
  deliveries: readonly NewDelivery[],
  pendingMax?: number,
): Promise<void> {
  const now = new Date();
  const crowded = await addDeliveries(service.postgres, deliveries, now, pendingMax);
  for (const { id: endpoint, workspace, url } of endpoints) {
    if (!crowded.includes(endpoint)) continue;
    if (!(await disableEndpoint(service.postgres, endpoint, "too_many", now))) continue;
    await reportDisabled(service, { workspace, endpoint, url }, "too_many", now);
  }
}

const why: Readonly<Record<DisabledBy, string>> = {
  member: "a member disabled it",
  failing: `it took nothing for ${limits.webhookRetriesForMs / (24 * 60 * 60 * 1000)} days`,
  gone: "it answered 410, that it is gone",
  too_many: `more than ${limits.webhookPendingMax} deliveries waited for it`,
};

/** In the activity log, and to owners by e-mail. */
export async function reportDisabled(
  service: Needs,
  { workspace, endpoint, url }: Readonly<Record<"workspace" | "endpoint" | "url", string>>,
  by: DisabledBy,
  now: Date,
): Promise<void> {
  const { config, logger, postgres, vault } = service;
  logger.warn({ endpoint, by }, "a webhook endpoint was disabled");
  const action = "webhook.disabled";
  const done = { workspace, actor: "webhooks", action, object: endpoint, requestId: endpoint };
  await recordActivity(postgres, done, now);
  if (missingMailSettings(config).length > 0) return;
  const page = { rowsMax: membersAskedMax, after: null };
  const owners = (await listMembers(postgres, vault, workspace, page)).filter(
    ({ role, email }) => role === "owner" && email !== null,
  );
  const { host } = new URL(url);
  const text =
    `The webhook endpoint at ${host} was disabled: ${why[by]}. What waits for it is kept. ` +
    "Enable it in the settings (Webhooks) when it works again.";
  for (const { email } of owners) {
    const message = { subject: `Webhooks to ${host} were disabled`, text, html: `<p>${text}</p>` };
    await sendEmail(config, email ?? "", message).catch((err: unknown) => {
      logger.warn({ err, endpoint }, "an owner could not be reached by e-mail");
    });
  }
}

/** Owners among the newest members get an e-mail; all others find it in the activity log. */
const membersAskedMax = 200;
