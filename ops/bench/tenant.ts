/** A workspace with a key and a Stripe integration, made through the management interface. */
import type { z } from "zod";
import { signTimed } from "../../providers/signatures.js";
import { signature } from "../../providers/stripe/signature.js";
import { createdKey, dataAnswer, integration, workspace } from "../../schemas/http/manage.js";
import { whenBooked } from "../demo/merchant.js";
import type { Call } from "./http-client.js";
import type { RunningService } from "./service.js";

export interface Tenant {
  readonly workspace: string;
  /** Of its API. */
  readonly key: string;
  readonly webhookPath: string;
  /** Of the calls that manage the integration. */
  readonly integrationPath: string;
}

export const signingSecret = "whsec_of_the_benchmark";

/** The process that answers the management interface and the API. */
export type Manager = Pick<RunningService, "base" | "adminToken">;

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
    key: key.key,
    webhookPath: stripe.webhook_path,
    integrationPath: `/${made.id}/integrations/${stripe.id}`,
  };
}

/** As Stripe would make it now. */
export function webhookCall(path: string, body: Buffer): Call {
  const signed = signTimed(signature, body, signingSecret, Date.now());
  const headers = { "Content-Type": "application/json", [signature.header]: signed };
  return { path, headers, body };
}

/** Resolves when everything received until now is booked. @throws when that takes too long */
export function settled({ base }: Pick<Manager, "base">, { key }: Tenant): Promise<void> {
  return whenBooked({ url: base.origin, key });
}

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
