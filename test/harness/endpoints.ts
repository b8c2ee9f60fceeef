/**
 * What the tests of the endpoints share: a workspace with keys and a Stripe integration, and calls.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { createStripe } from "../../providers/stripe/index.js";
import { topics } from "../../schemas/records/records.js";
import { type TestService, openTestService } from "./service.js";

export interface Endpoints extends TestService {
  readonly workspace: string;
  /** Full Ingress, Production. */
  readonly key: string;
  readonly readKey: string;
  readonly webhook: string;
  manage(method: string, path: string, body?: unknown): Promise<Answer>;
  call(path: string, init?: RequestInit): Promise<Answer>;
  ingest(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Posts to the webhook URL, signed with the integration's secret. */
  deliver(body: Buffer | string, more?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Records on the raw topic so far. */
  taken(): Promise<bigint>;
  /** @returns a `complete_to` that covers all sent so far */
  booked(): Promise<string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON, when there is any. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are asserted on, not relied on
  readonly json: any;
}

export const signingSecret = "whsec_of_the_endpoint_tests";
export const stripe = createStripe({ toleranceSeconds: 300 });

export async function openEndpoints(): Promise<Endpoints> {
  const opened = await openTestService();
  const { base, adminToken, service } = opened;

  const call: Endpoints["call"] = async (path, init) => {
    const response = await fetch(base + path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : null,
    };
  };
  const manage: Endpoints["manage"] = (method, path, body) =>
    call(`/v1/manage${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const created = await manage("POST", "/workspaces", { name: "Endpoints", base_currency: "EUR" });
  const workspace = String(created.json.data.id);
  const newKey = async (scope: string) => {
    const path = `/workspaces/${workspace}/keys`;
    const answer = await manage("POST", path, { environment: "Production", scope });
    return String(answer.json.data.key);
  };
  const key = await newKey("Full Ingress");
  const integration = await manage("POST", `/workspaces/${workspace}/integrations`, {
    provider: "stripe",
    environment: "Production",
    credentials: { signing_secret: signingSecret },
  });
  const webhook = String(integration.json.data.webhook_path);

  return {
    ...opened,
    workspace,
    key,
    readKey: await newKey("Read-only"),
    webhook,
    manage,
    call,
    ingest: (body, headers = {}) =>
      call("/v1/events/ingest", {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...headers,
        },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    deliver: (body, more = {}) => {
      const bytes = Buffer.from(body);
      const signed = stripe.sign(bytes, { signing_secret: signingSecret }, Date.now()).headers;
      return call(webhook, { method: "POST", headers: { ...signed, ...more }, body: bytes });
    },
    taken: async () => {
      const ends = await service.log.ends(topics.raw);
      return ends.reduce((sum, end) => sum + end, 0n);
    },
    booked: async () => {
      const now = Date.now();
      for (;;) {
        const complete = await service.watermark.completeTo();
        if (complete >= now) return new Date(complete).toISOString();
        await pause(10);
      }
    },
  };
}

let eventsMade = 0;

/** A whole, relevant Stripe event with an id of its own. */
export function newStripeEvent(change: Readonly<Record<string, unknown>> = {}) {
  eventsMade += 1;
  const created = Math.floor(Date.now() / 1000);
  return {
    id: `evt_door_${process.pid}_${eventsMade}`,
    object: "event",
    type: "product.created",
    created,
    livemode: true,
    api_version: "2025-09-30.clover",
    data: {
      object: { id: `prod_door_${eventsMade}`, object: "product", name: "Endpoint", created },
    },
    ...change,
  };
}

export function expectError(
  answer: Answer,
  expected: { status: number; code: string; type?: string; param?: string },
): void {
  const { status, code, type, param } = expected;
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.json.status).to.equal("error");
  expect(answer.json.error.code).to.equal(code);
  expect(answer.json.error.message).to.be.a("string").and.not.equal("");
  if (type !== undefined) expect(answer.json.error.type).to.equal(type);
  if (param !== undefined) expect(answer.json.error.param).to.equal(param);
  expect(answer.json.error.request_id).to.equal(answer.headers.get("x-request-id"));
}
