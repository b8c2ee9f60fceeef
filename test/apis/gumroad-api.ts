/** A real HTTP server that speaks the part of Gumroad's API this service asks: a sale by its id. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pathOfSale, type RecordInput, saleAnswer } from "../../ops/payloads/gumroad.js";
import { serveHttp } from "../harness/loopback.js";
import { send } from "./stripe-api.js";

interface GumroadApi {
  readonly url: string;
  readonly accessToken: string;
  /** From now on the API has this sale. */
  report(sale: RecordInput): void;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

export async function openGumroadApi(): Promise<GumroadApi> {
  const accessToken = "gumroad-token-of-the-tests";
  const sales = new Map<string, RecordInput>();
  const url = await serveHttp("gumroad api", (request, response) => {
    if (api.misbehave?.(request, response) === true) return;
    if (request.headers.authorization !== `Bearer ${accessToken}`) return send(response, 401, {});
    const sale = sales.get(request.url ?? "");
    // It answers 200 to what it does not have, too.
    const notFound = { success: false, message: "The sale was not found." };
    return send(response, 200, sale === undefined ? notFound : saleAnswer(sale));
  });
  const api: GumroadApi = {
    url,
    accessToken,
    report: (sale) => void sales.set(pathOfSale(sale.sale), sale),
    misbehave: null,
  };
  return api;
}
