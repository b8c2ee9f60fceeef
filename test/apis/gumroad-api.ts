/**
 * A real HTTP server that speaks the part of Gumroad's API this service asks: a sale by its id,
 * sales and payouts as listed (newest first, ten a page, `after`, `before`, `page_key`), a
 * subscriber, a payout with its lines.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pathOfSale, type RecordInput, saleAnswer } from "../payloads/gumroad-answers.js";
import { serveHttp } from "../harness/loopback.js";
import { send } from "./stripe-api.js";

interface GumroadApi {
  readonly url: string;
  readonly accessToken: string;
  /** From now on the API has this sale. */
  report(sale: RecordInput): void;
  /** Of the list, in any order. */
  readonly listed: Record<string, unknown>[];
  /** With their `transactions`, in any order. */
  readonly payouts: Record<string, unknown>[];
  /** Answers by path. */
  readonly subscribers: Map<string, unknown>;
  /** Paths with their queries, as they came. */
  readonly calls: string[];
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

const pageRows = 10;

export async function openGumroadApi(): Promise<GumroadApi> {
  const accessToken = "gumroad-token-of-the-tests";
  const sales = new Map<string, RecordInput>();
  const url = await serveHttp("gumroad api", (request, response) => {
    const path = request.url ?? "";
    api.calls.push(path);
    if (api.misbehave?.(request, response) === true) return;
    if (request.headers.authorization !== `Bearer ${accessToken}`) return send(response, 401, {});
    const { pathname, searchParams } = new URL(path, "http://gumroad.test");
    if (pathname === "/v2/sales") {
      return send(response, 200, page("sales", api.listed, searchParams));
    }
    if (pathname === "/v2/payouts") {
      const payouts = api.payouts.map(withoutLines);
      // The next one, which has no id yet, unless it is not wanted.
      if (searchParams.get("include_upcoming") !== "false") payouts.unshift({ id: null });
      return send(response, 200, page("payouts", payouts, searchParams));
    }
    if (pathname.startsWith("/v2/payouts/")) {
      return send(response, 200, onePayout(api.payouts, pathname, searchParams));
    }
    const subscriber = api.subscribers.get(path);
    if (subscriber !== undefined) return send(response, 200, subscriber);
    const sale = sales.get(path);
    // It answers 200 to what it does not have, too.
    const notFound = { success: false, message: "The sale was not found." };
    return send(response, 200, sale === undefined ? notFound : saleAnswer(sale));
  });
  const api: GumroadApi = {
    url,
    accessToken,
    report: (sale) => void sales.set(pathOfSale(sale.sale), sale),
    listed: [],
    payouts: [],
    subscribers: new Map(),
    calls: [],
    misbehave: null,
  };
  return api;
}

function onePayout(payouts: GumroadApi["payouts"], path: string, query: URLSearchParams) {
  const payout = payouts.find(({ id }) => path === `/v2/payouts/${encodeURIComponent(String(id))}`);
  if (payout === undefined) return { success: false, message: "The payout was not found." };
  const isWhole = query.get("include_transactions") === "true";
  return { success: true, payout: isWhole ? payout : withoutLines(payout) };
}

function withoutLines({ transactions: _lines, ...payout }: Record<string, unknown>) {
  return payout;
}

function page(name: string, listed: GumroadApi["listed"], query: URLSearchParams) {
  const at = (sale: Record<string, unknown>) => String(sale["created_at"]);
  const [after, before] = [query.get("after") ?? "", query.get("before") ?? "9"];
  const found = listed
    .filter((sale) => at(sale) >= after && at(sale) < before)
    .sort((one, other) => (at(one) < at(other) ? 1 : -1));
  const start = Number(query.get("page_key") ?? 0);
  const end = start + pageRows;
  const more = end < found.length ? { next_page_key: `${end}` } : {};
  return { success: true, [name]: found.slice(start, end), ...more };
}
