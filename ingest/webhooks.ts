/**
 * `POST /v1/webhooks/<token>`: the endpoint for providers. One token per integration; 2xx only
 * after the event is durable (`definitions.md`, Webhooks; docs/architecture.md).
 */
import type { Context, Middleware } from "koa";
import { settledAfter } from "../stores/watermark/in-flight-receipts.js";
import { readBytes, requireContentType } from "../http/body.js";
import {
  ApiError,
  eventFailed,
  malformed,
  notFound,
  unauthenticated,
  unavailable,
  unprocessable,
  wrongContentType,
} from "../schemas/http/errors.js";
import { contentTypes, parseBody } from "../schemas/parse.js";
import { type IntegrationCalls, takenVerdict } from "../workspaces/integration-calls.js";
import type { Integration } from "../workspaces/integrations.js";
import { limits } from "../config.js";
import {
  type Delivery,
  type Heading,
  KeysUnavailable,
  type Provider,
  type Refusal,
  type Verdict,
} from "../providers/provider.js";
import { LogThrottle } from "../runtime/log-throttle.js";
import type { WebhookAnswer } from "../schemas/http/ingest.js";
import { eventId } from "../schemas/ids.js";
import { type IngestService, appendSealed } from "./append-sealed.js";

export type Providers = ReadonlyMap<string, Provider>;

/** @param calls counts every call to a known URL; left out: nobody counts */
export function webhookRoute(
  service: IngestService,
  providers: Providers,
  calls?: IntegrationCalls,
): Middleware {
  const refusalsLogged = new LogThrottle();
  return async (ctx: Context) => {
    let provider = "unknown";
    let verdict = "error";
    let known: Integration | null = null;
    try {
      // 1. Find the integration of the URL. Guessing tokens meets 404 and the limit on refused
      // calls.
      const integration = await service.integrations.byToken(String(ctx.params.token));
      if (integration === null) throw notFound("webhook_unknown", "This webhook URL is not known.");
      known = integration;
      provider = integration.provider;
      ctx.body = await receive(service, providers, integration, ctx);
      verdict = takenVerdict;
    } catch (error) {
      if (error instanceof ApiError) verdict = error.code;
      if (error instanceof NotBelieved) reportRefusal(error, ctx, known);
      throw error;
    } finally {
      service.metrics.webhooks.inc({ provider, verdict });
      // A failure of ours says nothing about the integration: the provider calls again.
      if (known !== null && verdict !== "error") calls?.count(known.id, verdict);
    }
  };

  /** The caller gets only the code: a forger need not know how far the call came. */
  function reportRefusal({ code, detail }: NotBelieved, ctx: Context, known: Integration | null) {
    const suppressed = refusalsLogged.turn(detail);
    if (suppressed === null) return;
    const { provider, id: integration } = known ?? {};
    const more = suppressed > 0 ? { alike_before: suppressed } : {};
    const where = { request_id: ctx.state.requestId, provider, integration };
    service.logger.warn({ ...where, code, detail, ...more }, "webhook call not believed");
  }
}

/** A 401 whose code stands for many checks, with the one that failed. */
class NotBelieved extends ApiError {
  constructor(
    { status, type, code, message, headers }: ApiError,
    readonly detail: string,
  ) {
    super(status, type, code, message, { headers });
  }
}

async function receive(
  service: IngestService,
  providers: Providers,
  integration: Integration,
  ctx: Context,
): Promise<WebhookAnswer> {
  const provider = providers.get(integration.provider);
  if (provider === undefined) throw new Error(`no adapter for ${integration.provider}`);

  if (integration.credentials.length === 0) {
    throw unauthenticated(
      "credentials_missing",
      "The signing secret of this webhook is not entered yet. Enter it in the dashboard, then " +
        "send the event again.",
    );
  }

  // 2. The untouched bytes, bounded: what is signed is exactly what is sealed below.
  const body = await bytesOf(provider, ctx);

  // 3. Verify before anything is read into the body. A forged call costs one HMAC and never reaches
  // the log.
  const delivery = { headers: headersOf(ctx), body };
  const verdict = await verdictOn(provider, delivery, integration);
  if (!verdict.ok) throw refusalOf(verdict);

  // 4. Read its meaning and identity: every redelivery gets the same event id.
  const heading = headingOf(provider, bodyOf(provider, body), delivery);
  if (heading === null) {
    throw unprocessable("event_unrecognized", `This is no event of ${provider.token}.`);
  }
  const { workspace } = integration;
  const environment = environmentOf(heading, provider, integration);
  const event_id = eventId(workspace, environment, provider.token, heading.nativeId);

  // 5. Stamp it: no figure is final (`complete_to`) past this moment until it is settled.
  const receipt = service.watermark.receive(workspace);
  await settledAfter(receipt, () => {
    // 6. Seal and append it. If this fails the provider gets 503 and sends it again.
    const meta = {
      event_id,
      workspace,
      environment,
      provider: provider.token,
      integration: integration.id,
      form: "webhook" as const,
      native_id: heading.nativeId,
      native_type: heading.nativeType,
      received_at: receipt.receivedAt,
      verdict: verdict.verdict,
      rates_edition: service.rates.edition,
    };
    return appendSealed(service, [{ meta, body, accountHint: heading.accountHint }]);
  });

  // 7. Only now may the provider forget it.
  return { status: "success", event_id };
}

/** @throws ApiError 415 for another format, 413 */
async function bytesOf(provider: Provider, ctx: Context): Promise<Buffer> {
  if (provider.unsupportedForm !== undefined && ctx.request.type === contentTypes.form) {
    const form = parseBody({ bodyType: "form" }, await readBytes(ctx, limits.bodyBytesMax));
    const other = form.ok ? provider.unsupportedForm(form.value) : null;
    if (other !== null) throw wrongContentType(other.code, other.message);
  }
  requireContentType(
    ctx,
    ...new Set([contentTypes[provider.bodyType ?? "json"], contentTypes.json]),
  );
  return readBytes(ctx, limits.bodyBytesMax);
}

/** Where the provider separates environments, a contradiction to the integration is a reject. */
function environmentOf(
  { sandbox }: Heading,
  { separatesEnvironments: separates }: Provider,
  { environment }: Integration,
): Integration["environment"] {
  if (sandbox === null || separates === true) return environment;
  return sandbox ? "test" : "live";
}

/**
 * @throws ApiError 503 while published keys of the provider cannot be fetched, 500 when it fails
 */
async function verdictOn(
  provider: Provider,
  delivery: Delivery,
  { credentials }: Integration,
): Promise<Verdict> {
  try {
    return await provider.verify(delivery, credentials, Date.now());
  } catch (error) {
    if (!(error instanceof KeysUnavailable)) throw eventFailed(error);
    throw unavailable("keys_unavailable", "The provider's keys cannot be had now; call again.");
  }
}

/**
 * Without its heading an event has no id, and cannot be kept as a reject: under another id, its
 * redelivery would count twice. So the provider gets 500 and sends it again.
 * @throws ApiError 500
 */
function headingOf(provider: Provider, body: unknown, { headers }: Delivery): Heading | null {
  try {
    return provider.heading(body, headers, Date.now());
  } catch (error) {
    throw eventFailed(error);
  }
}

/** @throws ApiError 400 */
function bodyOf(provider: Provider, bytes: Buffer): unknown {
  const parsed = parseBody(provider, bytes);
  if (!parsed.ok) throw malformed(parsed.code, parsed.message);
  return parsed.value;
}

function refusalOf({ reason, detail }: Refusal): ApiError {
  const error = unauthenticated(reason, refusals[reason]);
  return detail === undefined ? error : new NotBelieved(error, detail);
}

const refusals: Readonly<Record<Refusal["reason"], string>> = {
  signature_missing: "The call carries no signature.",
  signature_malformed: "The signature header cannot be read.",
  signature_stale: "The signature is too old, or from the future.",
  signature_mismatch: "The signature does not belong to this body and this integration.",
};

/** Node joins repeated headers, except those it keeps as a list; no provider signs with one. */
function headersOf(ctx: Context): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(ctx.req.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );
}
