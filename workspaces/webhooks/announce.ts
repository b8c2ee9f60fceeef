/** Sends endpoints what is no record on a topic: alerts, silence, differences. */
import type { z } from "zod";
import { type AnnouncedType, announced } from "../../schemas/http/outbound/webhooks.js";
import { webhookMessageId } from "../../schemas/ids.js";
import type { Service } from "../../service.js";
import { type NewDelivery, activeEndpoints, addDeliveries, messageBody } from "./deliveries.js";
import { reportDisabled } from "./disabled.js";
import { disableEndpoint, type Endpoint } from "./endpoints.js";
import { type HappenedEvent, isWanted } from "./wanted.js";

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
