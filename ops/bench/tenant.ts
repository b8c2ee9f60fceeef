/** A workspace with a key and a Stripe integration, made through the management interface. */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { signTimed } from "../../providers/signatures.js";
import { signature } from "../../providers/stripe/signature.js";
import { createdKey, dataAnswer, integration, workspace } from "../../schemas/http/manage.js";
import { requestBytes } from "./http-connection.js";
import type { RunningService } from "./service.js";

export interface Tenant {
  readonly workspace: string;
  readonly authorization: string;
  readonly webhookPath: string;
  /** Of the calls that manage the integration. */
  readonly integrationPath: string;
}

export const signingSecret = "whsec_of_the_benchmark";
const settledMsMax = 120_000;
const settledPollMs = 250;

/** The process that answers the management interface and the API. */
type Manager = Pick<RunningService, "base" | "adminToken">;

/** @param apiKey with which the service may read Stripe's API */
export async function createTenant(service: Manager, apiKey?: string): Promise<Tenant> {
  const made = await manage(service, "", { name: "Benchmark", base_currency: "EUR" }, workspace);
  const key = await manage(
    service,
    `/${made.id}/keys`,
    { environment: "Production", scope: "Read-only" },
    createdKey,
  );
  const stripe = await manage(
    service,
    `/${made.id}/integrations`,
    {
      provider: "stripe",
      environment: "Production",
      credentials: { signing_secret: signingSecret, ...(apiKey && { api_key: apiKey }) },
    },
    integration,
  );
  return {
    workspace: made.id,
    authorization: `Bearer ${key.key}`,
    webhookPath: stripe.webhook_path,
    integrationPath: `/${made.id}/integrations/${stripe.id}`,
  };
}

/** A whole HTTP request as Stripe would send it now. */
export function webhookRequest(path: string, body: Buffer): Buffer {
  const signed = signTimed(signature, body, signingSecret, Date.now());
  const headers = { "Content-Type": "application/json", [signature.header]: signed };
  return requestBytes("POST", path, headers, body);
}

/** Resolves when everything received until now is booked. @throws when that takes too long */
export async function settled(service: Pick<Manager, "base">, tenant: Tenant): Promise<void> {
  const since = Date.now();
  while (Date.now() < since + settledMsMax) {
    const answer = await fetch(new URL("/v1/transactions?limit=1", service.base), {
      headers: { authorization: tenant.authorization },
    });
    const { complete_to: completeTo } = completeAnswer.parse(await answer.json());
    if (Date.parse(completeTo) >= since) return;
    await pause(settledPollMs);
  }
  throw new Error(`not booked within ${settledMsMax} ms`);
}

const completeAnswer = z.object({ complete_to: z.iso.datetime() });

/** @param body null: the thing is read, or what `method` says */
export async function manage<T>(
  service: Manager,
  path: string,
  body: object | null,
  answerSchema: z.ZodType<T>,
  method = body === null ? "GET" : "POST",
): Promise<T> {
  const answer = await fetch(new URL(`/v1/manage/workspaces${path}`, service.base), {
    method,
    headers: {
      authorization: `Bearer ${service.adminToken}`,
      "content-type": "application/json",
    },
    body: body === null ? null : JSON.stringify(body),
  });
  return dataAnswer(answerSchema).parse(await answer.json()).data;
}
