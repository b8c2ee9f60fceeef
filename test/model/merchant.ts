/** A merchant at the real service: sends signed webhooks and records, reads answers, over HTTP. */
import { setTimeout as pause } from "node:timers/promises";
import type { ModelEvent, Source } from "./facts.js";
import { at, list, must, text } from "./readers/json.js";
import { severalAtOnce } from "../harness/promises.js";
import type { Sent } from "./stories/story.js";
import { deliveryOf, type Webhook, webhooks } from "./stories/webhooks.js";

/** Where the service answers, and the token of its management interface. */
export interface Endpoint {
  readonly base: string;
  readonly adminToken: string;
}

export interface Merchant {
  readonly endpoint: Endpoint;
  readonly workspace: string;
  readonly key: string;
  readonly baseCurrency: string;
  /** Makes an integration. @returns its webhook path */
  readonly integrate: (provider: string, credentials: object) => Promise<string>;
  /** The webhook paths of providers; their integrations are made when first asked for. */
  readonly pathOf: (source: Webhook) => Promise<string>;
}

/** How long booking may lag behind before a test calls it stuck. */
const bookedWithinMs = 60_000;
/** Doubled with each answer: on a slow machine asking is work that booking waits for. */
const askAgainAfterMs = { least: 20, most: 320 };
const pageRows = 200;

/** A workspace of its own with a Stripe integration and a key that may do everything. */
export async function openMerchant(endpoint: Endpoint, baseCurrency: string): Promise<Merchant> {
  const manage = async (path: string, body: object) => {
    const answer = await fetch(`${endpoint.base}/v1/manage/workspaces${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${endpoint.adminToken}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    return at(await expectStatus(answer, 201), "data");
  };
  const made = await manage("", { name: "Model", base_currency: baseCurrency });
  const workspace = must(text(made, "id"), "a workspace id");
  const environment = "Production";
  const madeKey = await manage(`/${workspace}/keys`, { environment, scope: "Full Ingress" });
  const integrate = async (provider: string, credentials: object): Promise<string> => {
    const given = { provider, environment, credentials };
    const integration = await manage(`/${workspace}/integrations`, given);
    return must(text(integration, "webhook_path"), "a webhook path");
  };
  const paths = new Map<Source, Promise<string>>();
  const pathOf: Merchant["pathOf"] = (source) => {
    const known = paths.get(source);
    if (known !== undefined) return known;
    const path = integrate(source, must(webhooks[source].credentials, "credentials"));
    paths.set(source, path);
    // The service may be down just now: whoever sends next asks again.
    path.catch(() => paths.delete(source));
    return path;
  };
  await pathOf("stripe");
  const key = must(text(madeKey, "key"), "a key");
  return { endpoint, workspace, key, baseCurrency, integrate, pathOf };
}

/** Sends in this order, several at a time. @returns them as the model reads them */
export async function sendAll(merchant: Merchant, events: readonly Sent[]): Promise<ModelEvent[]> {
  const reported: ModelEvent[] = [];
  await severalAtOnce(events, async (event) => {
    reported.push(await send(merchant, event));
  });
  return reported;
}

/**
 * What can be reported through the endpoints alone: the stories of the others hold what their APIs
 * answer, which google-service.test.ts and enrich.test.ts prove.
 */
export function sentByWebhook(deliveries: readonly Sent[]): Sent[] {
  return deliveries.filter(({ source }) => source !== "google" && source !== "lemonsqueezy");
}

export async function send(merchant: Merchant, event: Sent): Promise<ModelEvent> {
  const answer = await deliver(merchant, event);
  // Without a rate a webhook is taken and parked; a record is refused.
  const isRefused = event.source === "record" && answer.status === 422;
  if (isRefused) await expectRateMissing(answer);
  const body = isRefused ? {} : await expectStatus(answer, event.source === "record" ? 202 : 200);
  const { source } = event;
  const id = text(body, "event_id") ?? event.id;
  return { id, source, body: event.body, receivedAt: Date.now() };
}

/** One call as a provider makes it; the answer is not looked at. */
export async function deliver(
  merchant: Merchant,
  event: Sent,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const json = { "content-type": "application/json" };
  if (event.source === "record") {
    return fetch(`${merchant.endpoint.base}/v1/events/ingest`, {
      method: "POST",
      headers: { ...json, authorization: `Bearer ${merchant.key}` },
      body: JSON.stringify(event.body),
      signal,
    });
  }
  const path = await merchant.pathOf(event.source);
  const { headers, body } = deliveryOf(event.source, event.body);
  return fetch(`${merchant.endpoint.base}${path}`, { method: "POST", headers, body, signal });
}

/** @returns a `complete_to` that covers everything sent so far */
export async function whenBooked(merchant: Merchant): Promise<string> {
  const sentBy = Date.now();
  for (let waitMs = askAgainAfterMs.least; ; waitMs = Math.min(2 * waitMs, askAgainAfterMs.most)) {
    const complete = must(
      text(await read(merchant, "/v1/metrics/mrr"), "complete_to"),
      "complete_to",
    );
    if (Date.parse(complete) >= sentBy) return complete;
    if (Date.now() - sentBy > bookedWithinMs) throw new Error(`booked only up to ${complete}`);
    await pause(waitMs);
  }
}

export async function read(
  merchant: Merchant,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await fetch(
    `${merchant.endpoint.base}${path}?${new URLSearchParams(query).toString()}`,
    {
      headers: { authorization: `Bearer ${merchant.key}` },
    },
  );
  return expectStatus(answer, 200);
}

/** Every row of a list, page by page. */
export async function readPages(
  merchant: Merchant,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<unknown[]> {
  const rows: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page = cursor === null ? query : { ...query, cursor };
    const answer = await read(merchant, path, { ...page, limit: String(pageRows) });
    rows.push(...list(answer, "data"));
    cursor = text(answer, "pagination", "next_cursor");
  } while (cursor !== null);
  return rows;
}

async function expectStatus(answer: Response, status: number): Promise<unknown> {
  const body = await answer.text();
  if (answer.status !== status) {
    throw new Error(`${answer.url} answered ${answer.status}, not ${status}: ${body}`);
  }
  const parsed: unknown = JSON.parse(body);
  return parsed;
}

async function expectRateMissing(answer: Response): Promise<void> {
  const body: unknown = await answer.json();
  const code = text(body, "error", "code");
  if (code !== "fx_rate_missing") throw new Error(`refused: ${JSON.stringify(body)}`);
}
