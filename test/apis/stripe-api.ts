/**
 * A real HTTP server that speaks the part of Stripe's API this service uses: single objects, lists
 * as documented (newest first, `limit`, `starting_after`, `created[gte]`, `arrival_date[…]`,
 * `payout`, `type`, `expand[]`, `has_more`), and new webhook endpoints.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { JsonObject } from "../../ops/payloads/stripe.js";
import { isObject } from "../../providers/fields.js";
import { serveHttp } from "../harness/loopback.js";

export interface StripeApi {
  readonly url: string;
  /** Paths with their queries, as they came. */
  readonly calls: string[];
  /** Objects by path, `/v1/products/prod_1`. */
  readonly objects: Map<string, JsonObject>;
  /** Objects of a list by path, `/v1/charges`, in any order. */
  readonly lists: Map<string, JsonObject[]>;
  /** Those made, by their idempotency keys. */
  readonly webhookEndpoints: Map<string, WebhookEndpoint>;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

interface WebhookEndpoint {
  readonly id: string;
  readonly object: "webhook_endpoint";
  readonly url: string;
  readonly enabled_events: readonly string[];
  readonly secret: string;
  readonly livemode: boolean;
  readonly status: "enabled";
}

export const apiKey = "rk_of_the_tests";
/** May make webhook endpoints, and nothing else. */
export const endpointKey = "rk_live_of_the_tests";

export async function openStripeApi(): Promise<StripeApi> {
  const url = await serveHttp("stripe api", (request, response) => {
    const path = request.url ?? "";
    api.calls.push(path);
    if (api.misbehave?.(request, response) === true) return;
    const { authorization } = request.headers;
    if (request.method === "POST" && path === "/v1/webhook_endpoints") {
      if (authorization === `Bearer ${apiKey}`) return send(response, 403, {});
      if (authorization !== `Bearer ${endpointKey}`) return send(response, 401, {});
      void makeEndpoint(api, request, response);
      return;
    }
    if (authorization !== `Bearer ${apiKey}`) return send(response, 401, {});
    const { pathname, searchParams } = new URL(path, "http://stripe.test");
    const object = api.objects.get(pathname);
    if (object !== undefined) return send(response, 200, object);
    const list = api.lists.get(pathname);
    if (list !== undefined) {
      const payout = api.objects.get(`/v1/payouts/${searchParams.get("payout")}`);
      if (payout?.automatic === false) return send(response, 400, missing("payout"));
      const found = page(api, pathname, list, searchParams);
      return send(response, found === null ? 400 : 200, found ?? missing("starting_after"));
    }
    send(response, 404, missing("id"));
  });
  const api: StripeApi = {
    url,
    calls: [],
    objects: new Map(),
    lists: new Map(),
    webhookEndpoints: new Map(),
    misbehave: null,
  };
  return api;
}

async function makeEndpoint(
  { webhookEndpoints }: StripeApi,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const form = new URLSearchParams(await text(request));
  const [url, events] = [form.get("url"), form.getAll("enabled_events[]")];
  if (url === null || events.length === 0) return send(response, 400, missing("url"));
  const repeated = String(request.headers["idempotency-key"]);
  const number = webhookEndpoints.size + 1;
  const made = webhookEndpoints.get(repeated) ?? {
    id: `we_${number}`,
    object: "webhook_endpoint",
    url,
    enabled_events: events,
    secret: `whsec_made_${number}`,
    livemode: true,
    status: "enabled",
  };
  webhookEndpoints.set(repeated, made);
  send(response, 200, made);
}

const listNames = [
  "products",
  "subscriptions",
  "charges",
  "invoices",
  "invoice_payments",
  "checkout/sessions",
  "refunds",
  "credit_notes",
  "payouts",
] as const;

/** From now on its lists have this, and nothing else. */
export function listOnly(
  api: StripeApi,
  {
    disputes = [],
    ...others
  }: Readonly<Partial<Record<(typeof listNames)[number] | "disputes", JsonObject[]>>>,
): void {
  for (const name of listNames) api.lists.set(`/v1/${name}`, others[name] ?? []);
  listDisputes(api, disputes);
}

/** With the money that they move; its list names disputes by their ids. */
export function listDisputes({ lists }: StripeApi, disputes: JsonObject[]): void {
  lists.set("/v1/disputes", disputes);
  const moved = disputes.flatMap(({ balance_transactions: moves }) =>
    Array.isArray(moves) ? moves.filter((move): move is JsonObject => isObject(move)) : [],
  );
  lists.set("/v1/balance_transactions", moved);
}

export function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function missing(param: string): JsonObject {
  return { error: { type: "invalid_request_error", code: "resource_missing", param } };
}

/** What they name by its id and was asked for, `data.source`, is put in its place. */
function expanded(
  { lists }: StripeApi,
  objects: readonly JsonObject[],
  query: URLSearchParams,
): JsonObject[] {
  const names = query.getAll("expand[]").map((path) => path.replace(/^data\./, ""));
  if (names.length === 0) return [...objects];
  // Of several with an id the first: it is set last.
  const all = [...lists.values()].flat().reverse();
  const byId = new Map(all.map((object) => [object.id, object]));
  const objectOf = (id: JsonObject[string] | undefined) => byId.get(id) ?? id;
  return objects.map((object) => ({
    ...object,
    ...Object.fromEntries(
      names.flatMap((name) => {
        const value = name in object ? objectOf(object[name]) : undefined;
        return value === undefined ? [] : [[name, value]];
      }),
    ),
  }));
}

/** @returns null when the object it shall start after is not in the list (any more) */
function page(
  api: StripeApi,
  url: string,
  objects: readonly JsonObject[],
  query: URLSearchParams,
): JsonObject | null {
  const from = Number(query.get("created[gte]") ?? 0);
  const arrives = ["gte", "lte"].map((end) => query.get(`arrival_date[${end}]`));
  const rows = objects
    .filter((object) => createdAt(object) >= from)
    .filter(({ arrival_date: at }) => arrives[0] === null || Number(at) >= Number(arrives[0]))
    .filter(({ arrival_date: at }) => arrives[1] === null || Number(at) <= Number(arrives[1]))
    .filter((object) => filters.every((name) => (query.get(name) ?? object[name]) === object[name]))
    .sort((one, other) => createdAt(other) - createdAt(one));
  const after = query.get("starting_after");
  const start = after === null ? 0 : rows.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) return null;
  const limit = Number(query.get("limit") ?? 10);
  const data = expanded(api, rows.slice(start, start + limit), query);
  return { object: "list", url, data, has_more: start + limit < rows.length };
}

/** What is asked for by one of them has it. */
const filters = ["invoice", "payment_intent", "payout", "type"];

function createdAt({ created }: JsonObject): number {
  return typeof created === "number" ? created : 0;
}
