/**
 * What the tests of the endpoints share: a workspace with keys and a Stripe integration, and calls.
 */
import { expect } from "chai";
import type { Signed } from "../../providers/provider.js";
import { createStripe } from "../../providers/stripe/index.js";
import { topics } from "../../schemas/records/records.js";
import type { Endpoint } from "../model/merchant.js";
import type { Tenant } from "./query-rows.js";
import { allBooked, openTestService } from "./service.js";

export type Endpoints = Awaited<ReturnType<typeof openEndpoints>>;

interface NewKey {
  readonly id: string;
  readonly key: string;
}

interface NewIntegration {
  readonly id: string;
  readonly environment: string;
  /** Of a custom one: its secret, shown once. */
  readonly credentials: { readonly signing_secret: string };
  readonly webhook_path: string;
  readonly created_at: string;
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

/** Of the suite in which it is called: opened before its tests and before the hooks below it. */
export function suiteEndpoints(): Endpoints {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whole before anything reads it
  const endpoints = {} as Endpoints;
  before(async function open() {
    this.timeout(60_000);
    Object.assign(endpoints, await openEndpoints());
  });
  return endpoints;
}

/** A new workspace. @param of a service that may be at another address after a while */
export async function newWorkspace(of: () => Endpoint) {
  const call = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(of().base + path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : null,
    };
  };
  const manage = (method: string, path: string, body?: unknown) =>
    call(`/v1/manage${path}`, {
      method,
      headers: {
        authorization: `Bearer ${of().adminToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const given = { name: "Endpoints", base_currency: "EUR" };
  const created = await manage("POST", "/workspaces", given);
  const workspace = String(created.json.data.id);
  /** Of the management interface. */
  const path = `/workspaces/${workspace}`;
  const make = async (what: string, body: object) => {
    const { status, text, json } = await manage("POST", path + what, body);
    expect(status, text).to.equal(201);
    return json.data;
  };
  const newKey = (
    environment: string,
    scope: "Read-only" | "Full Ingress" = "Read-only",
  ): Promise<NewKey> => make("/keys", { environment, scope });
  const integrate = (
    provider: string,
    credentials: object,
    environment = "Production",
  ): Promise<NewIntegration> => make("/integrations", { provider, environment, credentials });
  const { key } = await newKey("Production", "Full Ingress");
  const { key: readKey } = await newKey("Production");
  const post = (to: string, { headers, body }: Signed) =>
    call(to, { method: "POST", headers, body: new Uint8Array(body) });
  return {
    workspace,
    path,
    /** Full Ingress, Production. */
    key,
    readKey,
    manage,
    newKey,
    integrate,
    call,
    get: (url: string, by = readKey) => call(url, { headers: { authorization: `Bearer ${by}` } }),
    post,
    /** Open ones, by any filter of the management interface. */
    rejects: async (query = ""): Promise<Answer["json"]> =>
      (await manage("GET", `${path}/rejects${query}`)).json.data,
  };
}

/** A new workspace of the one service. @param hasStripe false: without any integration */
export async function openEndpoints({ hasStripe = true } = {}) {
  const opened = await openTestService();
  const { service } = opened;
  const inWorkspace = await newWorkspace(() => opened);
  const { workspace, key, call, post, integrate } = inWorkspace;
  const connected = hasStripe ? await integrate("stripe", { signing_secret: signingSecret }) : null;
  const webhook = connected?.webhook_path ?? "";
  const tenant: Tenant = { workspace, environment: "live" };
  const ingest = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    call("/v1/events/ingest", {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });

  return {
    ...opened,
    ...inWorkspace,
    tenant,
    webhook,
    ingest,
    /** Sends a record in euros (form A), which must be taken. @returns the JSON of the answer */
    record: async (fields: object, headers: Readonly<Record<string, string>> = {}) => {
      const answer = await ingest({ provider: "custom", currency: "EUR", ...fields }, headers);
      expect(answer.status, answer.text).to.equal(202);
      return answer.json;
    },
    /** Posts to the webhook URL, signed with the integration's secret. */
    deliver: (body: Buffer | string, more: Readonly<Record<string, string>> = {}) => {
      const credentials = { signing_secret: signingSecret };
      const signed = stripe.sign(Buffer.from(body), credentials, Date.now());
      return post(webhook, { ...signed, headers: { ...signed.headers, ...more } });
    },
    /** Records on the raw topic so far. */
    taken: async () => {
      const ends = await service.log.ends(topics.raw);
      return ends.reduce((sum, end) => sum + end, 0n);
    },
    /** @returns a `complete_to` that covers all sent so far */
    booked: () => allBooked(opened),
  };
}

/** The rows of an export as NDJSON. */
export function jsonLines(text: string): Answer["json"][] {
  expect(text.endsWith("\n") || text === "").to.equal(true);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

let eventsMade = 0;

/** A whole, relevant Stripe event with an id of its own. */
export function newStripeEvent(change: Readonly<Record<string, unknown>> = {}) {
  eventsMade += 1;
  const created = Math.floor(Date.now() / 1000);
  return {
    id: `evt_endpoint_${process.pid}_${eventsMade}`,
    object: "event",
    type: "product.created",
    created,
    livemode: true,
    api_version: "2025-09-30.clover",
    data: {
      object: { id: `prod_endpoint_${eventsMade}`, object: "product", name: "Endpoint", created },
    },
    ...change,
  };
}

/** @param expected `422 field_invalid amount`: status, code and parameter, which may be left out */
export function expectError(answer: Answer, expected: string): void {
  const [status, code, param] = expected.split(" ");
  expect(answer.status, answer.text).to.equal(Number(status));
  expect(answer.json.status).to.equal("error");
  const { error } = answer.json;
  expect(error.code).to.equal(code);
  expect(error.message).to.be.a("string").and.not.equal("");
  expect(error.type).to.equal(errorTypes[answer.status] ?? "invalid_request");
  if (param !== undefined) expect(error.param).to.equal(param);
  expect(error.request_id).to.equal(answer.headers.get("x-request-id"));
}

const errorTypes: Readonly<Record<number, string>> = {
  401: "authentication",
  403: "permission",
  404: "not_found",
  409: "conflict",
  429: "rate_limited",
  500: "internal",
  503: "unavailable",
};

/** A test for each call that is refused: what is asked, and how the error names it. */
export function itRefuses(
  get: (asked: string) => Promise<Answer>,
  calls: readonly (readonly [asked: string, status: number, code: string, param: string])[],
): void {
  for (const [asked, status, code, param] of calls) {
    it(`should refuse ${asked} with ${status} ${code}`, async () => {
      expectError(await get(asked), `${status} ${code} ${param}`);
    });
  }
}
