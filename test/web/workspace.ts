/** A workspace of whoever is signed in in a browser, and events in it. */
import { expect } from "chai";
import type { BrowserContext } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";

export async function createWorkspace(
  context: BrowserContext,
  { base }: Endpoints,
  name: string,
  currency = "USD",
): Promise<string> {
  const answer = await context.request.post("/v1/manage/workspaces", {
    headers: { origin: base },
    data: { name, base_currency: currency },
  });
  expect(answer.status(), await answer.text()).to.equal(201);
  return (await answer.json()).data.id;
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
  const sentAt = new Date().toISOString();
  for (let moment = ""; moment < sentAt;) {
    const answer = await endpoints.call("/v1/metrics/mrr", { headers: { authorization } });
    moment = answer.json.complete_to;
  }
  return json.data.key;
}
