/**
 * A real HTTP server that speaks the part of Paddle's API that history is read with: lists as
 * documented (newest first, `after`, `per_page` up to its own maximum, `status`, `action`,
 * `billed_at`, `event_type`, `include`), single objects, metrics (`from`, and `to` which is
 * exclusive), and reports. Who asks with another key is answered by `others`.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { JsonObject } from "../../ops/payloads/paddle.js";
import { isObject, textOf } from "../../providers/fields.js";
import { dayMs } from "../harness/days.js";
import { serveHttp } from "../harness/loopback.js";
import { answerReports, type PaddleReports, reportCalls, sendFile } from "./paddle-reports.js";
import { send } from "./stripe-api.js";

export interface PaddleApi {
  readonly url: string;
  /** Paths with their queries, as they came. */
  readonly calls: string[];
  /** Objects by path, `/customers/ctm_1/addresses/add_1`. */
  readonly objects: Map<string, JsonObject>;
  /** Objects of a list by path, `/transactions`, in any order. */
  readonly lists: Map<string, JsonObject[]>;
  /** Amounts of a metric by its path; none: the key may not read it. */
  readonly metrics: Map<string, Metric>;
  readonly reports: PaddleReports;
  /** Of a page, whatever is asked for. */
  perPageMax: number;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

interface Metric {
  /** Null: a count. */
  readonly currency: string | null;
  /** Of the day that begins then. */
  readonly amountOn: (day: number) => bigint;
}

export const paddleKey = "pdl_of_the_tests";

export async function openPaddleApi(others: RequestListener): Promise<PaddleApi> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isFile = /\.csv\b/.test(request.url ?? "");
    if (!isFile && request.headers.authorization !== `Bearer ${paddleKey}`) {
      others(request, response);
      return;
    }
    const path = request.url ?? "";
    api.calls.push(path);
    if (api.misbehave?.(request, response) === true) return;
    if (sendFile(api.reports, request, response)) return;
    const reports = api.lists.get("/reports") ?? [];
    if (await answerReports(api.reports, reports, request, response)) return;
    const { pathname, searchParams } = new URL(path, "http://paddle.test");
    if (pathname.startsWith("/metrics/")) {
      const found = metric(api.metrics.get(pathname), searchParams);
      return send(response, found.status, { ...found.body, meta });
    }
    const object = api.objects.get(pathname);
    if (object !== undefined) return send(response, 200, { data: object, meta });
    if (!api.lists.has(pathname)) return send(response, 404, { error: { code: "not_found" } });
    send(response, 200, page(api, pathname, searchParams));
  }
  const url = await serveHttp("paddle api", (request, response) => void answer(request, response));
  const api: PaddleApi = {
    url,
    calls: [],
    objects: new Map(),
    lists: new Map(),
    metrics: new Map(),
    reports: { ...reportCalls },
    perPageMax: 200,
    misbehave: null,
  };
  return api;
}

function idOf({ id, event_id: eventId }: JsonObject): string {
  return textOf(id ?? eventId) ?? "";
}

const meta = { request_id: "of the tests" };

function metric(
  known: Metric | undefined,
  query: URLSearchParams,
): { readonly status: number; readonly body: JsonObject } {
  const refused = (status: number, code: string) => ({ status, body: { error: { code } } });
  if (known === undefined) return refused(403, "forbidden");
  const [from = "", to = ""] = ["from", "to"].map((name) => query.get(name) ?? "");
  const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text);
  if (!isDay(from) || !isDay(to) || from > to) return refused(400, "bad_request");
  const timeseries: JsonObject[] = [];
  for (let day = Date.parse(from); day < Date.parse(to); day += dayMs) {
    const amount = known.amountOn(day);
    const value = known.currency === null ? { count: Number(amount) } : { amount: `${amount}` };
    timeseries.push({ timestamp: new Date(day).toISOString(), ...value });
  }
  const currency = known.currency === null ? {} : { currency_code: known.currency };
  const shared = { ...currency, interval: "day", timeseries };
  const [starts_at, ends_at] = [`${from}T00:00:00Z`, `${to}T00:00:00Z`];
  const updated_at = new Date().toISOString();
  return { status: 200, body: { data: { ...shared, starts_at, ends_at, updated_at } } };
}

function page(api: PaddleApi, path: string, query: URLSearchParams): JsonObject {
  const statuses = query.get("status")?.split(",");
  const types = query.get("event_type")?.split(",");
  const rows = (api.lists.get(path) ?? [])
    .filter(({ status }) => statuses?.includes(textOf(status) ?? "") ?? true)
    .filter((one) => types?.includes(textOf(one["event_type"]) ?? "") ?? true)
    .filter(({ action }) => (query.get("action") ?? action) === action)
    .filter((one) => isBilledWithin(one, query))
    .sort((one, other) => (idOf(one) > idOf(other) ? -1 : 1));
  const after = query.get("after");
  const start = after === null ? 0 : rows.findIndex((one) => idOf(one) === after) + 1;
  const perPage = Math.min(Number(query.get("per_page") ?? 50), api.perPageMax);
  const data = rows.slice(start, start + perPage);
  const next = new URL(`https://api.paddle.com${path}?${query.toString()}`);
  const last = data.at(-1);
  next.searchParams.set("after", last === undefined ? (after ?? "") : idOf(last));
  const included = query.get("include")?.split(",") ?? [];
  return {
    data: data.map((one) => withIncluded(api, one, included)),
    meta: {
      ...meta,
      pagination: {
        per_page: perPage,
        next: next.href,
        has_more: start + perPage < rows.length,
        estimated_total: rows.length,
      },
    },
  };
}

function isBilledWithin({ billed_at: at }: JsonObject, query: URLSearchParams): boolean {
  const [from, to] = [query.get("billed_at[GTE]"), query.get("billed_at[LTE]")];
  const time = Date.parse(textOf(at) ?? "");
  return (from === null || time >= Date.parse(from)) && (to === null || time <= Date.parse(to));
}

function withIncluded(api: PaddleApi, one: JsonObject, included: readonly string[]): JsonObject {
  const [customer, place] = [one["customer_id"], one["address_id"]].map(textOf);
  const path = `/customers/${customer}/addresses/${place}`;
  const address = api.objects.get(path);
  const totals = totalsOf(api.lists.get("/adjustments") ?? [], one);
  return {
    ...one,
    ...(included.includes("address") && address !== undefined ? { address } : {}),
    ...(included.includes("adjustments_totals") && totals !== null
      ? { adjustments_totals: totals }
      : {}),
  };
}

/** Only of transactions that were adjusted. */
function totalsOf(adjustments: readonly JsonObject[], { id }: JsonObject): JsonObject | null {
  const own = adjustments.filter(
    (one) => one["transaction_id"] === id && one["status"] === "approved",
  );
  if (own.length === 0) return null;
  const sumOf = (action: string): string => {
    const totals = own.filter((one) => one["action"] === action).map(({ totals: all }) => all);
    return totals.reduce((sum, all) => sum + BigInt(totalIn(all)), 0n).toString();
  };
  const breakdown = {
    credit: sumOf("credit"),
    refund: sumOf("refund"),
    chargeback: sumOf("chargeback"),
  };
  return { breakdown };
}

function totalIn(totals: JsonObject[string] | undefined): string {
  return (isObject(totals) ? textOf(totals["total"]) : null) ?? "0";
}
