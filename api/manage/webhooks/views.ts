/** Endpoints and deliveries as JSON, without secrets. */
import type {
  WebhookDeliveryView,
  WebhookEndpointView,
} from "../../../schemas/http/outbound/webhooks.js";
import type { Delivery } from "../../../workspaces/webhooks/deliveries.js";
import type { ListedEndpoint } from "../../../workspaces/webhooks/endpoints.js";
import { shownEnvironment } from "../environments.js";

export function endpointView(row: ListedEndpoint, now = new Date()): WebhookEndpointView {
  const { id, url, name, filters, pending, problem, disabled_by } = row;
  const oldUntil = row.previous_valid_until;
  return {
    id,
    environment: shownEnvironment(row.environment),
    url,
    name,
    events: [...row.events],
    filters,
    pending,
    failing_since: textOf(row.failing_since),
    next_try_at: textOf(row.wait_until),
    problem,
    disabled_at: textOf(row.disabled_at),
    disabled_by,
    old_secret_until: oldUntil !== null && oldUntil > now ? textOf(oldUntil) : null,
    created_at: row.created_at.toISOString(),
  };
}

export function deliveryView(row: Delivery): WebhookDeliveryView {
  const { id, message, type, state, tries, status, problem, body } = row;
  return {
    id,
    message,
    type,
    state,
    attempts: tries,
    response_status: status,
    problem,
    next_try_at: state === "pending" ? textOf(row.due_at) : null,
    delivered_at: textOf(row.delivered_at),
    created_at: row.created_at.toISOString(),
    payload: body,
  };
}

const textOf = (at: Date | null): string | null => at?.toISOString() ?? null;
