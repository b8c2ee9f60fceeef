/** `…/webhooks`: endpoints, their secrets and deliveries. An endpoint's URL may hold a secret. */
import { randomBytes } from "node:crypto";
import type { Context } from "koa";
import { limits } from "../../../config.js";
import { readJson } from "../../../http/body.js";
import { readQuery } from "../../../http/query.js";
import { makeSecret } from "../../../providers/custom/signature.js";
import { conflict, notFound, unprocessable } from "../../../schemas/http/errors.js";
import { rolledKey } from "../../../schemas/http/manage.js";
import {
  changedWebhookEndpoint,
  deliveriesQuery,
  newWebhookEndpoint,
  replayedDeliveries,
  testType,
} from "../../../schemas/http/outbound/webhooks.js";
import type { Service } from "../../../service.js";
import { randomBase62 } from "../../../stores/vault/random.js";
import { addressProblem } from "../../../workspaces/channels/outbound.js";
import {
  type NewDelivery,
  addDeliveries,
  findDelivery,
  listDeliveries,
  messageBody,
  replayDeliveries,
} from "../../../workspaces/webhooks/deliveries.js";
import {
  type ListedEndpoint,
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findEndpoint,
  listEndpoints,
  rollSecret,
} from "../../../workspaces/webhooks/endpoints.js";
import type { Workspace } from "../../../workspaces/workspaces.js";
import { webhookDeliveryId } from "../../../schemas/ids.js";
import type { Cursors } from "../../reading/cursors.js";
import type { Calls } from "../calls.js";
import { overlapMs } from "../keys.js";
import { segmentOfEvents } from "../../segments/resolve.js";
import { markOf, openList, pageOf } from "../lists.js";
import { requireRoom } from "../room.js";
import { storedEnvironment } from "../views.js";
import { deliveryView, endpointView } from "./views.js";

const right = "manage";
const path = "/webhooks";
const one = `${path}/:endpoint`;
const secretBytes = 32;

export function webhookRoutes(service: Service, calls: Calls<Workspace>, cursors: Cursors): void {
  const { config, postgres, vault } = service;

  calls.list(
    path,
    right,
    ({ id }, page) => listEndpoints(postgres, id, page),
    (row) => endpointView(row),
  );

  const created = { right, action: "webhook.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, { id: workspace }) => {
    const {
      environment,
      url,
      events,
      filters = {},
      name = null,
    } = readJson(ctx, newWebhookEndpoint);
    refuseAddress(url);
    await checkSegment({ workspace, environment: storedEnvironment(environment) }, filters);
    const secret = makeSecret(randomBytes(secretBytes));
    const made = await postgres.transaction(async (sql) => {
      await requireRoom(sql, "webhook_endpoints", workspace, limits.webhookEndpointsMax);
      const given = { workspace, environment: storedEnvironment(environment) };
      const written = { url, events, filters: definedOf(filters), name };
      return createEndpoint(sql, vault, { ...given, ...written }, secret, new Date());
    });
    // The only time the secret is shown.
    return { ...endpointView({ ...made, pending: 0 }), secret };
  });

  const changed = { right, action: "webhook.changed" } as const;
  calls.write("PATCH", one, changed, async (ctx, workspace) => {
    const { id, environment } = await endpointOf(ctx, workspace);
    const { enabled, filters, ...changes } = readJson(ctx, changedWebhookEndpoint);
    if (changes.url !== undefined) refuseAddress(changes.url);
    await checkSegment({ workspace: workspace.id, environment }, filters);
    await postgres.transaction(async (sql) => {
      const written = filters === undefined ? {} : { filters: definedOf(filters) };
      await changeEndpoint(sql, id, { ...definedOf(changes), ...written });
      if (enabled === true) await enableEndpoint(sql, id, new Date());
      if (enabled === false) await disableEndpoint(sql, id, "member", new Date());
    });
    return endpointView(await endpointOf(ctx, workspace));
  });

  const rolled = { right, action: "webhook.secret_rolled", status: 201 } as const;
  calls.write("POST", `${one}/secret`, rolled, async (ctx, workspace) => {
    const { id } = await endpointOf(ctx, workspace);
    const overlap = overlapMs[readJson(ctx, rolledKey).old_valid_for];
    const secret = makeSecret(randomBytes(secretBytes));
    const until = overlap === 0 ? null : new Date(Date.now() + overlap);
    await rollSecret(postgres, vault, id, secret, until);
    return { ...endpointView(await endpointOf(ctx, workspace)), secret };
  });

  calls.write("DELETE", one, { right, action: "webhook.deleted" }, async (ctx, workspace) => {
    const found = await endpointOf(ctx, workspace);
    await deleteEndpoint(postgres, found.id);
    return endpointView(found);
  });

  const tested = { right, action: "webhook.tested", status: 201 } as const;
  calls.write("POST", `${one}/test`, tested, async (ctx, workspace) => {
    const { id, environment } = await enabledOf(ctx, workspace);
    const at = new Date();
    const event = { workspace: workspace.id, environment, at };
    const message = `msg_${randomBase62(27)}`;
    const body = messageBody(event, testType, { endpoint: id });
    // A lane of its own: it waits for no account.
    const delivery: NewDelivery = { endpoint: id, message, type: testType, lane: message, body };
    await addDeliveries(postgres, [delivery], at);
    return replayed(id, webhookDeliveryId(id, message));
  });

  const deliveries = `${one}/deliveries`;
  calls.answer("GET", deliveries, { right }, async (ctx, workspace) => {
    const { id } = await endpointOf(ctx, workspace);
    const { state, ...query } = readQuery(ctx, deliveriesQuery);
    const name = `${path}/${id}`;
    const list = openList(ctx, { cursors, name, query, filters: { state } });
    const rows = await listDeliveries(postgres, id, list.filters.state, pageOf(list));
    return list.answer(rows, markOf, deliveryView);
  });

  const replays = { right, action: "webhook.replayed", status: 200 } as const;
  calls.write("POST", `${deliveries}/replay`, replays, async (ctx, workspace) => {
    const { id: endpoint } = await enabledOf(ctx, workspace);
    const { since, state } = readJson(ctx, replayedDeliveries);
    const of = { since: new Date(since), onlyFailed: state === "failed" };
    const made = await replayDeliveries(postgres, { endpoint, of }, new Date());
    const last = Math.max(...made.map((at) => at.getTime()));
    const next_since = made.length === limits.webhookReplaysMax ? new Date(last) : null;
    return { replayed: made.length, next_since };
  });

  calls.write("POST", `${deliveries}/:delivery/replay`, replays, async (ctx, workspace) => {
    const { id } = await enabledOf(ctx, workspace);
    return replayed(id, String(ctx.params.delivery));
  });

  /** @throws ApiError 404 */
  async function replayed(endpoint: string, id: string) {
    await replayDeliveries(postgres, { endpoint, of: { id } }, new Date());
    const found = await findDelivery(postgres, endpoint, id);
    if (found === null) throw notFound("delivery_unknown", "There is no such delivery.");
    return deliveryView(found);
  }

  /** @throws ApiError 404 */
  async function endpointOf(ctx: Context, { id }: Workspace): Promise<ListedEndpoint> {
    const found = await findEndpoint(postgres, id, String(ctx.params.endpoint));
    if (found === null) throw notFound("webhook_unknown", "There is no such webhook endpoint.");
    return found;
  }

  /** @throws ApiError 404, 409 */
  async function enabledOf(ctx: Context, workspace: Workspace): Promise<ListedEndpoint> {
    const found = await endpointOf(ctx, workspace);
    if (found.disabled_at === null) return found;
    throw conflict("webhook_disabled", "This endpoint is disabled; enable it first.");
  }

  /** @throws ApiError 422 */
  async function checkSegment(
    tenant: Pick<ListedEndpoint, "workspace" | "environment">,
    { segment }: { readonly segment?: string | undefined } = {},
  ): Promise<void> {
    if (segment === undefined) return;
    await segmentOfEvents(postgres, tenant, { id: segment, revision: null });
  }

  /** @throws ApiError 422 */
  function refuseAddress(url: string): void {
    const problem = addressProblem(config, url);
    if (problem !== null) throw unprocessable("url_not_allowed", `url ${problem}.`, "url");
  }
}

type Defined<Of> = { [Name in keyof Of]?: Exclude<Of[Name], undefined> };

function definedOf<Of extends object>(given: Of): Defined<Of> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only undefined was taken out
  return Object.fromEntries(entries) as Defined<Of>;
}
