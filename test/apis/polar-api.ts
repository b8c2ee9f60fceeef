/**
 * Speaks the lists of Polar's API: `page`, `limit` up to 100, `sorting` by one time, of orders
 * `created_after` and `created_before`, and of disputes `status`.
 */
import type { RequestListener } from "node:http";
import type { JsonObject } from "../payloads/polar.js";
import { textOf } from "../../providers/fields.js";
import { send } from "./stripe-api.js";

/** Objects of a list by path, `/v1/orders/`, in any order. */
export function polarApi(lists: ReadonlyMap<string, readonly JsonObject[]>): RequestListener {
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://polar.test");
    const objects = lists.get(pathname);
    if (objects === undefined) return send(response, 404, { error: "ResourceNotFound" });
    send(response, 200, pageOf(objects, searchParams));
  };
}

function pageOf(objects: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const limit = Math.min(Number(query.get("limit") ?? 10), 100);
  const page = Number(query.get("page") ?? 1);
  const [after, before] = [query.get("created_after"), query.get("created_before")];
  const sorting = query.get("sorting") ?? "-created_at";
  const [sign, name] = sorting.startsWith("-") ? [-1, sorting.slice(1)] : [1, sorting];
  const status = query.get("status");
  const found = objects
    .filter((one) => status === null || one["status"] === status)
    .filter((one) => after === null || timeOf(one, "created_at") > Date.parse(after))
    .filter((one) => before === null || timeOf(one, "created_at") < Date.parse(before))
    .toSorted((one, other) => sign * (timeOf(one, name) - timeOf(other, name)));
  const total = found.length;
  return {
    items: found.slice((page - 1) * limit, page * limit),
    pagination: { total_count: total, max_page: Math.ceil(total / limit) },
  };
}

function timeOf(object: JsonObject, name: string): number {
  return Date.parse(textOf(object[name]) ?? "");
}
