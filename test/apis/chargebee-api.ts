/**
 * Speaks the lists of Chargebee's API (`limit` up to 100, `offset`, `date[between]`), whose rows
 * each hold an object under its kind, and answers questions about single objects.
 */
import type { RequestListener } from "node:http";
import type { JsonObject } from "../payloads/chargebee.js";
import { send } from "./stripe-api.js";

/** Objects by kind, `transaction`, in any order. */
export function chargebeeApi(lists: ReadonlyMap<string, readonly JsonObject[]>): RequestListener {
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://chargebee.test");
    const [, kind = "", id] = /^\/api\/v2\/(\w+)s(?:\/([^/]+))?$/.exec(pathname) ?? [];
    const objects = lists.get(kind);
    if (objects === undefined) return send(response, 404, { api_error_code: "resource_not_found" });
    if (id === undefined) return send(response, 200, pageOf(kind, objects, searchParams));
    const found = objects.find((one) => one["id"] === decodeURIComponent(id));
    send(response, found === undefined ? 404 : 200, found === undefined ? {} : { [kind]: found });
  };
}

function pageOf(kind: string, objects: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const limit = Math.min(Number(query.get("limit") ?? 10), 100);
  const offset = Number(query.get("offset") ?? 0);
  const [from, to] = JSON.parse(query.get("date[between]") ?? "[]");
  const found = objects
    .filter(({ date }) => from === undefined || (Number(date) >= from && Number(date) <= to))
    .toSorted((one, other) => Number(one["date"] ?? 0) - Number(other["date"] ?? 0));
  const next = offset + limit;
  return {
    list: found.slice(offset, next).map((one) => ({ [kind]: one })),
    ...(next < found.length && { next_offset: `${next}` }),
  };
}
