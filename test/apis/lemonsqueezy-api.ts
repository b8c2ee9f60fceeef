/**
 * Speaks the lists of Lemon Squeezy's API (newest first, `page[number]`, `page[size]`, `include`,
 * `filter[store_id]`), and answers questions about single objects.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { JsonObject, LemonObject } from "../../ops/payloads/lemonsqueezy.js";
import { send } from "./stripe-api.js";

interface LemonSqueezyApi {
  /** By path, `/v1/orders`, in any order. */
  readonly lists: Map<string, LemonObject[]>;
  /** Answers by path and query. */
  readonly answers: Map<string, JsonObject>;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
  readonly answer: RequestListener;
}

export function lemonSqueezyApi(): LemonSqueezyApi {
  const api: LemonSqueezyApi = {
    lists: new Map(),
    answers: new Map(),
    misbehave: null,
    answer(request, response) {
      const path = request.url ?? "";
      if (api.misbehave?.(request, response) === true) return;
      const { pathname, searchParams } = new URL(path, "http://lemonsqueezy.test");
      const list = api.lists.get(pathname);
      const found = list === undefined ? api.answers.get(path) : page(api, list, searchParams);
      send(response, found === undefined ? 404 : 200, found ?? {});
    },
  };
  return api;
}

function page(
  { lists }: LemonSqueezyApi,
  objects: readonly LemonObject[],
  query: URLSearchParams,
): JsonObject {
  const size = Number(query.get("page[size]") ?? 10);
  const number = Number(query.get("page[number]") ?? 1);
  const store = query.get("filter[store_id]");
  const sorted = objects
    .filter(({ attributes: { store_id: id } }) => store === null || Number(store) === id)
    .toSorted((one, other) => createdAt(other) - createdAt(one));
  const data = sorted.slice((number - 1) * size, number * size);
  const orders = lists.get("/v1/orders") ?? [];
  const invoices = lists.get("/v1/subscription-invoices") ?? [];
  const included =
    query.get("include") === "order,subscription-invoices"
      ? data.flatMap(({ id, attributes: { order_id: order } }) => [
          ...orders.filter((one) => one.id === order),
          ...invoices.filter(({ attributes }) => attributes["subscription_id"] === id),
        ])
      : [];
  return {
    meta: { page: { currentPage: number, lastPage: Math.max(1, Math.ceil(sorted.length / size)) } },
    data: data.map(written),
    included: included.map(written),
  };
}

/** Ids are texts, as JSON:API has them. */
export function written({ type, id, attributes }: LemonObject): JsonObject {
  return { type, id: `${id}`, attributes };
}

function createdAt({ attributes: { created_at: at } }: LemonObject): number {
  return typeof at === "string" ? Date.parse(at) : 0;
}
