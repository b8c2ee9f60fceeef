/** Events as the endpoints put them on the raw topic, with receipt times the test decides. */
import { ApiError } from "../../schemas/http/errors.js";
import { parseBody } from "../../schemas/parse.js";
import type { Access } from "../../workspaces/keys.js";
import type { NewRecord } from "../../stores/log/log.js";
import { sealRawEvent } from "../../stores/vault/vault.js";
import type { Service } from "../../service.js";
import { planEvent } from "../../ingest/event.js";
import type { Provider } from "../../providers/provider.js";
import { eventId } from "../../schemas/ids.js";
import { type RawEventMeta, rawEventCodec } from "../../schemas/records/records.js";
import type { ModelEvent } from "../model/facts.js";
import { must } from "../model/readers/json.js";
import type { Sent } from "../model/stories/story.js";
import { deliveryOf } from "../model/stories/webhooks.js";

export interface Endpoint {
  readonly service: Pick<Service, "vault" | "rates">;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly access: Access;
}

export interface SentEvent {
  /** Null: refused, nothing reached the log. */
  readonly record: NewRecord | null;
  /** What the model reads. */
  readonly event: ModelEvent;
}

/** @param receivedAt ms since 1970 */
export async function takeAtEndpoint(
  endpoint: Endpoint,
  sent: Sent,
  receivedAt: number,
): Promise<SentEvent> {
  const { source, body } = sent;
  const reported = { source, body, receivedAt };
  const taken =
    source === "record"
      ? await ingest(endpoint, sent, receivedAt)
      : webhook(endpoint, sent, receivedAt);
  if (taken === null) return { record: null, event: { ...reported, id: sent.id } };
  const { meta, bytes, hint } = taken;
  const value = rawEventCodec.encode(sealRawEvent(endpoint.service.vault, meta, bytes));
  const key = `${meta.workspace}:${hint ?? meta.event_id}`;
  return { record: { key, value }, event: { ...reported, id: meta.event_id } };
}

interface Taken {
  readonly meta: RawEventMeta;
  readonly bytes: Buffer;
  readonly hint: string | null;
}

function webhook(endpoint: Endpoint, { source, body }: Sent, receivedAt: number): Taken {
  if (source === "record") throw new Error("a record comes with a key");
  const provider = must(endpoint.providers.get(source), "an adapter");
  const bytes = deliveryOf(source, body).body;
  const parsed = parseBody(provider, bytes);
  if (!parsed.ok) throw new Error(parsed.message);
  const heading = must(provider.heading(parsed.value), "a heading");
  const { nativeId, nativeType, sandbox, accountHint } = heading;
  const { workspace } = endpoint.access;
  const environment = sandbox === true ? "test" : "live";
  const meta: RawEventMeta = {
    event_id: eventId(workspace, environment, source, nativeId),
    workspace,
    environment,
    provider: source,
    integration: "int_test",
    form: "webhook",
    native_id: nativeId,
    native_type: nativeType,
    received_at: receivedAt,
    verdict: "signature",
    rates_edition: endpoint.service.rates.edition,
  };
  return { meta, bytes, hint: accountHint };
}

async function ingest(
  { service, providers, access }: Endpoint,
  { body }: Sent,
  receivedAt: number,
): Promise<Taken | null> {
  const bytes = Buffer.from(JSON.stringify(body));
  try {
    const isMirrored = async () => false;
    const call = { service, providers, access, receivedAt, ownIdentity: null, isMirrored };
    const { taken } = await planEvent(call, bytes);
    return { meta: taken.meta, bytes, hint: taken.accountHint };
  } catch (error) {
    if (error instanceof ApiError && error.code === "fx_rate_missing") return null;
    throw error;
  }
}
