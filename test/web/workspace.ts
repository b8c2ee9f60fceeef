/** A workspace of whoever is signed in in a browser, and events in it. */
import { expect } from "chai";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { openDashboard } from "../../ops/chromium.js";
import { type Endpoints, openEndpoints } from "../harness/endpoints.js";
import { LookedAt, openBrowser } from "./browser.js";

export interface OpenWorkspace {
  readonly endpoints: Endpoints;
  readonly context: BrowserContext;
  readonly page: Page;
  readonly looked: LookedAt;
  readonly workspace: string;
  /** Goes to a path in it. Resolves when all is shown. */
  readonly open: (path: string) => Promise<void>;
}

/** A new one, and a page signed in as its owner. Leaves the suite out where there is no browser. */
export async function openWorkspace(
  suite: Mocha.Context,
  name: string,
  options: BrowserContextOptions = {},
  currency = "USD",
): Promise<OpenWorkspace> {
  const browser = await openBrowser(suite);
  const endpoints = await openEndpoints();
  const folder = endpoints.service.config.DATA_DIR;
  const given: BrowserContextOptions = { reducedMotion: "reduce", ...options };
  const context = await openDashboard(browser, endpoints.base, folder, given);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const looked = new LookedAt(page);
  const workspace = await createWorkspace(context, endpoints, name, currency);
  const open = async (path: string): Promise<void> => {
    await page.goto(inWorkspace(path, workspace));
    await looked.settle();
  };
  return { endpoints, context, page, looked, workspace, open };
}

export function inWorkspace(path: string, workspace: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}workspace=${workspace}`;
}

export async function createWorkspace(
  context: BrowserContext,
  { base }: Endpoints,
  name: string,
  currency: string,
): Promise<string> {
  const answer = await context.request.post("/v1/manage/workspaces", {
    headers: { origin: base },
    data: { name, base_currency: currency },
  });
  expect(answer.status(), await answer.text()).to.equal(201);
  return (await answer.json()).data.id;
}

/** Of a customer with one subscription: `cus_<id>`, `sub_<id>`. */
export function eventOf(type: string, id: string, amount: number, at: string, more: object = {}) {
  return {
    provider: "stripe",
    event_type: type,
    event_id: `${type}-${id}-${amount}`,
    amount,
    currency: "USD",
    subscription_id: `sub_${id}`,
    customer_id: `cus_${id}`,
    product_id: "plan",
    product_name: "Plan",
    occurred_at: at,
    ...more,
  };
}

/** Resolves when they are booked. @returns the key they were sent with */
export async function bookEvents(
  endpoints: Endpoints,
  workspace: string,
  environment: "Production" | "Test",
  events: readonly object[],
): Promise<string> {
  const { json } = await endpoints.manage("POST", `/workspaces/${workspace}/keys`, {
    environment,
    scope: "Full Ingress",
  });
  const authorization = `Bearer ${json.data.key}`;
  for (const event of events) {
    const { status, text } = await endpoints.call("/v1/events/ingest", {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(event),
    });
    expect(status, text).to.equal(202);
  }
  await endpoints.booked();
  return json.data.key;
}
