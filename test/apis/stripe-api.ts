/**
 * A real HTTP server that speaks the part of Stripe's API this service reads: single objects, and
 * lists as documented (newest first, `limit`, `starting_after`, `created[gte]`, `has_more`).
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonObject } from "../../ops/payloads/stripe.js";
import { serveHttp } from "../harness/loopback.js";

export interface StripeApi {
  readonly url: string;
  /** Paths with their queries, as they came. */
  readonly calls: string[];
  /** Objects by path, `/v1/products/prod_1`. */
  readonly objects: Map<string, JsonObject>;
  /** Objects of a list by path, `/v1/charges`, in any order. */
  readonly lists: Map<string, JsonObject[]>;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

export const apiKey = "rk_of_the_tests";

export async function openStripeApi(): Promise<StripeApi> {
  const url = await serveHttp("stripe api", (request, response) => {
    const path = request.url ?? "";
    api.calls.push(path);
    if (api.misbehave?.(request, response) === true) return;
    if (request.headers.authorization !== `Bearer ${apiKey}`) return send(response, 401, {});
    const { pathname, searchParams } = new URL(path, "http://stripe.test");
    const object = api.objects.get(pathname);
    if (object !== undefined) return send(response, 200, object);
    const list = api.lists.get(pathname);
    if (list !== undefined) {
      const found = page(pathname, list, searchParams);
      return send(response, found === null ? 400 : 200, found ?? missing("starting_after"));
    }
    send(response, 404, missing("id"));
  });
  const api: StripeApi = {
    url,
    calls: [],
    objects: new Map(),
    lists: new Map(),
    misbehave: null,
  };
  return api;
}

export function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function missing(param: string): JsonObject {
  return { error: { type: "invalid_request_error", code: "resource_missing", param } };
}

/** @returns null when the object it shall start after is not in the list (any more) */
function page(
  url: string,
  objects: readonly JsonObject[],
  query: URLSearchParams,
): JsonObject | null {
  const from = Number(query.get("created[gte]") ?? 0);
  const rows = objects
    .filter((object) => createdAt(object) >= from)
    .filter((object) => filters.every((name) => (query.get(name) ?? object[name]) === object[name]))
    .sort((one, other) => createdAt(other) - createdAt(one));
  const after = query.get("starting_after");
  const start = after === null ? 0 : rows.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) return null;
  const limit = Number(query.get("limit") ?? 10);
  const data = rows.slice(start, start + limit);
  return { object: "list", url, data, has_more: start + limit < rows.length };
}

const filters = ["invoice", "payment_intent"];

function createdAt({ created }: JsonObject): number {
  return typeof created === "number" ? created : 0;
}
