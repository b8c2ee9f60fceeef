/** `…/webhooks`: endpoints, their secrets and deliveries. An endpoint's URL may hold a secret. */
import { randomBytes } from "node:crypto";
import { limits } from "../../../config.js";
import { makeSecret } from "../../../providers/custom/signature.js";
import { conflict, notFound, unprocessable } from "../../../schemas/http/errors.js";
import { rolledKey } from "../../../schemas/http/manage.js";
import {
  changedWebhookEndpoint,
  deliveriesQuery,
  newWebhookEndpoint,
  replayedCount,
  replayedDeliveries,
  testType,
  webhookDelivery,
  type WebhookDeliveryView,
  webhookEndpoint,
  type WebhookEndpointView,
  webhookEndpointWithSecret,
} from "../../../schemas/http/outbound/webhooks.js";
import { randomBase62 } from "../../../stores/vault/random.js";
import { webhookDeliveryId } from "../../../schemas/ids.js";
import { addressProblem } from "../../../workspaces/channels/outbound.js";
import {
  addDeliveries,
  type Delivery,
  findDelivery,
  listDeliveries,
  messageBody,
  type NewDelivery,
  replayDeliveries,
} from "../../../workspaces/webhooks/deliveries.js";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findEndpoint,
  type ListedEndpoint,
  listEndpoints,
  rollSecret,
} from "../../../workspaces/webhooks/endpoints.js";
import { type Call, filteredBy, named, ofWorkspace } from "../calls.js";
import { overlapMs } from "../keys.js";
import { segmentOfEvents } from "../../segments/resolve.js";
import { requireRoom } from "../room.js";
import { shownEnvironment, storedEnvironment } from "../environments.js";

const right = "manage";
const path = "/webhooks";
const one = `${path}/{endpoint}`;
const deliveries = `${one}/deliveries`;
const secretBytes = 32;

const endpointOf = named(
  "endpoint",
  ({ postgres, of }, id) => findEndpoint(postgres, of.id, id),
  "webhook endpoint",
);

export const webhookRoutes = [
  ofWorkspace.post(path, "Make a webhook endpoint", {
    right,
    action: "webhook.created",
    body: newWebhookEndpoint,
    answer: webhookEndpointWithSecret,
    errors: [409],
    async run({ config, postgres, vault, of, body }) {
      const { environment, url, events, filters = {}, name = null } = body;
      refuseAddress(config, url);
      const tenant = { workspace: of.id, environment: storedEnvironment(environment) };
      await checkSegment(postgres, tenant, filters);
      const secret = makeSecret(randomBytes(secretBytes));
      const made = await postgres.transaction(async (sql) => {
        await requireRoom(sql, "webhook_endpoints", of.id, limits.webhookEndpointsMax);
        const written = { url, events, filters: definedOf(filters), name };
        return createEndpoint(sql, vault, { ...tenant, ...written }, secret, new Date());
      });
      // The only time the secret is shown.
      return { ...endpointView({ ...made, pending: 0 }), secret };
    },
  }),
  ofWorkspace.list(path, "Webhook endpoints", {
    right,
    row: webhookEndpoint,
    read: ({ postgres, of }, page) => listEndpoints(postgres, of.id, page),
    view: (row) => endpointView(row),
  }),
  ofWorkspace.patch(one, "Change, disable or enable an endpoint", {
    right,
    action: "webhook.changed",
    body: changedWebhookEndpoint,
    answer: webhookEndpoint,
    find: endpointOf,
    async run(call) {
      const { config, postgres, found, body } = call;
      const { enabled, filters, ...changes } = body;
      if (changes.url !== undefined) refuseAddress(config, changes.url);
      const tenant = { workspace: call.of.id, environment: found.environment };
      await checkSegment(postgres, tenant, filters);
      await postgres.transaction(async (sql) => {
        const written = filters === undefined ? {} : { filters: definedOf(filters) };
        await changeEndpoint(sql, found.id, { ...definedOf(changes), ...written });
        if (enabled === true) await enableEndpoint(sql, found.id, new Date());
        if (enabled === false) await disableEndpoint(sql, found.id, "member", new Date());
      });
      return endpointView(await endpointOf(call));
    },
  }),
  ofWorkspace.delete(one, "Delete it and its deliveries", {
    right,
    action: "webhook.deleted",
    answer: webhookEndpoint,
    find: endpointOf,
    async run({ postgres, found }) {
      await deleteEndpoint(postgres, found.id);
      return endpointView(found);
    },
  }),
  ofWorkspace.post(`${one}/secret`, "Replace its secret", {
    right,
    action: "webhook.secret_rolled",
    body: rolledKey,
    answer: webhookEndpointWithSecret,
    find: endpointOf,
    async run(call) {
      const { postgres, vault, found, body } = call;
      const overlap = overlapMs[body.old_valid_for];
      const secret = makeSecret(randomBytes(secretBytes));
      const until = overlap === 0 ? null : new Date(Date.now() + overlap);
      await rollSecret(postgres, vault, found.id, secret, until);
      return { ...endpointView(await endpointOf(call)), secret };
    },
  }),
  ofWorkspace.post(`${one}/test`, "Send a test", {
    right,
    action: "webhook.tested",
    answer: webhookDelivery,
    errors: [409],
    find: enabledOf,
    async run({ postgres, of, found: { id, environment } }) {
      const at = new Date();
      const message = `msg_${randomBase62(27)}`;
      const event = { workspace: of.id, environment, at };
      const body = messageBody(event, testType, { endpoint: id });
      // A lane of its own: it waits for no account.
      const delivery: NewDelivery = { endpoint: id, message, type: testType, lane: message, body };
      await addDeliveries(postgres, [delivery], at);
      return replayed(postgres, id, webhookDeliveryId(id, message));
    },
  }),
  ofWorkspace.list(deliveries, "Its deliveries", {
    right,
    row: webhookDelivery,
    filters: filteredBy(deliveriesQuery, ({ state }) => ({ state })),
    async read(call, page, { filters }) {
      const { id } = await endpointOf(call);
      return listDeliveries(call.postgres, id, filters.state, page);
    },
    view: deliveryView,
  }),
  ofWorkspace.post(`${deliveries}/replay`, "Send deliveries since a time again", {
    right,
    action: "webhook.replayed",
    body: replayedDeliveries,
    answer: replayedCount,
    status: 200,
    errors: [409],
    find: enabledOf,
    async run({ postgres, found, body: { since, state } }) {
      const of = { since: new Date(since), onlyFailed: state === "failed" };
      const made = await replayDeliveries(postgres, { endpoint: found.id, of }, new Date());
      const last = Math.max(...made.map((at) => at.getTime()));
      const next_since = made.length === limits.webhookReplaysMax ? new Date(last) : null;
      return { replayed: made.length, next_since };
    },
  }),
  ofWorkspace.post(`${deliveries}/{delivery}/replay`, "Send one again", {
    right,
    action: "webhook.replayed",
    answer: webhookDelivery,
    status: 200,
    errors: [409],
    find: enabledOf,
    run: ({ postgres, ctx, found }) => replayed(postgres, found.id, String(ctx.params.delivery)),
  }),
];

/** @throws ApiError 404 */
async function replayed(postgres: Call["postgres"], endpoint: string, id: string) {
  await replayDeliveries(postgres, { endpoint, of: { id } }, new Date());
  const found = await findDelivery(postgres, endpoint, id);
  if (found === null) throw notFound("delivery_unknown", "There is no such delivery.");
  return deliveryView(found);
}

/** @throws ApiError 404, 409 */
async function enabledOf(call: Call): Promise<ListedEndpoint> {
  const found = await endpointOf(call);
  if (found.disabled_at === null) return found;
  throw conflict("webhook_disabled", "This endpoint is disabled; enable it first.");
}

/** @throws ApiError 422 */
async function checkSegment(
  postgres: Call["postgres"],
  tenant: Pick<ListedEndpoint, "workspace" | "environment">,
  { segment }: { readonly segment?: string | undefined } = {},
): Promise<void> {
  if (segment === undefined) return;
  await segmentOfEvents(postgres, tenant, { id: segment, revision: null });
}

/** @throws ApiError 422 */
function refuseAddress(config: Call["config"], url: string): void {
  const problem = addressProblem(config, url);
  if (problem !== null) throw unprocessable("url_not_allowed", `url ${problem}.`, "url");
}

type Defined<Of> = { [Name in keyof Of]?: Exclude<Of[Name], undefined> };

function definedOf<Of extends object>(given: Of): Defined<Of> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only undefined was taken out
  return Object.fromEntries(entries) as Defined<Of>;
}

function endpointView(row: ListedEndpoint, now = new Date()): WebhookEndpointView {
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

function deliveryView(row: Delivery): WebhookDeliveryView {
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
