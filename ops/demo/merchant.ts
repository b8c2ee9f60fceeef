/** The demo's merchant, as the service knows it: a workspace, its integrations and a key. */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { mrrAnswer } from "../../api/mrr/schema.js";
import { productsAnswer } from "../../api/products/schema.js";
import { account, type DemoToken, demoTokens, newAccount, ofEach } from "./integrations.js";

export const merchant = z.object({
  key: z.string(),
  integrations: z.record(z.enum(demoTokens), z.object({ webhookPath: z.string(), account })),
});
export interface Merchant extends z.output<typeof merchant> {
  /** Where the service answers, without a slash at the end. */
  readonly url: string;
}

/** Through the management interface. @throws when the service refuses */
export async function openMerchant(
  url: string,
  adminToken: string,
  baseCurrency: string,
): Promise<Merchant> {
  const make = async <T>(path: string, body: object, answer: z.ZodType<T>): Promise<T> => {
    const response = await fetch(`${url}/v1/manage/workspaces${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return z.object({ data: answer }).parse(await readAnswer(response)).data;
  };
  const environment = "Production";
  const workspace = { name: "Demo", base_currency: baseCurrency };
  const { id } = await make("", workspace, z.object({ id: z.string() }));
  const { key } = await make(
    `/${id}/keys`,
    { environment, scope: "Full Ingress", name: "Demo" },
    z.object({ key: z.string() }),
  );
  const connect = async (provider: DemoToken) => {
    const made = newAccount(provider);
    const { webhook_path: webhookPath } = await make(
      `/${id}/integrations`,
      { provider, environment, credentials: made.credentials },
      z.object({ webhook_path: z.string() }),
    );
    return { webhookPath, account: made };
  };
  const integrations = await ofEach(connect);
  return { url, key, integrations };
}

/** @param path with its query. @throws when the answer is not 200 or not of the shape */
export async function ask<T>(from: Merchant, path: string, shape: z.ZodType<T>): Promise<T> {
  const response = await fetch(from.url + path, {
    headers: { authorization: `Bearer ${from.key}` },
  });
  return shape.parse(await readAnswer(response));
}

const recheckMs = 200;
/** Booking that gets no further for so long is stuck. */
const standstillMsMax = 120_000;

/** Resolves when everything taken so far is booked. */
export async function whenBooked(
  from: Merchant,
  options: {
    readonly signal?: AbortSignal;
    /** @param completeTo ms since 1970 */
    readonly onProgress?: (completeTo: number) => void;
  } = {},
): Promise<void> {
  const takenBy = Date.now();
  let before = 0;
  let movedAt = takenBy;
  while (before < takenBy) {
    const { complete_to } = await ask(from, "/v1/metrics/mrr", mrrAnswer);
    const completeTo = Date.parse(complete_to);
    options.onProgress?.(completeTo);
    if (completeTo > before) movedAt = Date.now();
    before = completeTo;
    if (Date.now() - movedAt > standstillMsMax) throw new Error(`booked only up to ${complete_to}`);
    if (before < takenBy) await pause(recheckMs, undefined, { signal: options.signal });
  }
}

/** Payments the service knows of that were made up to then. */
export async function salesUpTo(from: Merchant, at: number): Promise<number> {
  const query = new URLSearchParams({
    period: "lifetime",
    at: new Date(at).toISOString(),
    limit: "200",
  });
  const { data } = await ask(from, `/v1/products?${query.toString()}`, productsAnswer);
  return data.reduce((sum, product) => sum + product.total_sales, 0);
}

async function readAnswer(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  const answer: unknown = JSON.parse(text);
  return answer;
}
