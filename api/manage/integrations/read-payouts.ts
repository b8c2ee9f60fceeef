/** Reads payouts from a provider's API, and the files that it leads to. */
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { askFile, askJson, type Unread } from "../../../providers/api/ask-json.js";
import type { Asker } from "../../../providers/api/provider-api.js";
import { type Ask, type Making, type Payouts, PayoutUnread } from "../../../providers/payouts.js";
import type { ProviderApi } from "../../../providers/provider.js";
import { csvLines } from "../../../runtime/csv-lines.js";
import { withDeadline } from "../../../runtime/deadline.js";
import { unavailable, unprocessable } from "../../../schemas/http/errors.js";
import type { Service } from "../../../service.js";
import type { Integration } from "../../../workspaces/integrations.js";
import type { Manage } from "../calls.js";

/** Of one answer of the provider, and of the whole call: callers give up after a minute. */
const answerMsMax = 20_000;
const readMsMax = 50_000;
/** Only the deadline ends a reading. */
const never = new AbortController().signal;
/** As a sentence calls what is asked for. */
const name = "payouts";
const csvLineBytesMax = 64 * 1024;
/** When to try again what is being made. */
const passingSeconds = 5;

interface Given {
  readonly integration: Integration;
  readonly making: Making;
}

/** @throws ApiError 422, 503 */
export async function reading<T>(
  { apis, integrations, providers }: Pick<Manage, "apis" | "integrations" | "providers">,
  id: string,
  read: (payouts: Payouts, ask: Ask, given: Given) => Promise<T>,
): Promise<T> {
  const integration = await integrations.byId(id);
  const provider = integration && providers.get(integration.provider);
  if (!integration || provider?.payouts === undefined) {
    throw unprocessable("payouts_unsupported", "The payouts of this provider cannot be read.");
  }
  const { payouts } = provider;
  const asker = { provider, integration: { id, credentials: integration.credentials[0] } };
  return withDeadline(readMsMax, never, async (signal) => {
    const making: Making = {
      now: Date.now(),
      async csv(url) {
        const file = await fileAt(url, { apis }, asker, signal);
        return file && cellsOf(file);
      },
      pause,
    };
    try {
      return await read(payouts, asking({ apis }, asker, signal), { integration, making });
    } catch (error) {
      if (!(error instanceof PayoutUnread)) throw error;
      throw error.isPassing
        ? unavailable("payout_not_ready", error.message, passingSeconds)
        : unprocessable("payout_not_made", error.message);
    }
  });
}

function asking({ apis }: Pick<Service, "apis">, asker: Asker, signal: AbortSignal): Ask {
  return async (asked, shape, json) => {
    const question = { path: asked, json, answerMsMax, name };
    const found = await askJson(apis, asker, question, signal);
    if ("problem" in found) throw unread(found);
    if (found.value === null) return null;
    const parsed = shape.safeParse(found.value);
    if (parsed.success) return parsed.data;
    const message = `The API of ${asker.provider.token} answered no payouts.`;
    throw unprocessable("payouts_unreadable", message);
  };
}

/** What leads anywhere else than the provider names is not followed. */
async function fileAt(
  url: string,
  { apis }: Pick<Service, "apis">,
  { provider, integration }: Asker,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const { origin, protocol, host, pathname, search } = new URL(url);
  const { api, payouts } = provider;
  if (protocol !== "https:" || payouts?.fileHosts?.includes(host) !== true || api === undefined) {
    const message = `${provider.token} names a file at ${origin}, which is no host of its own.`;
    throw unprocessable("payouts_unreadable", message);
  }
  // Its own rate limit and circuit breaker: the file server may fail while the API works.
  const asker: Asker = {
    provider: { ...provider, api: withoutCredentials(api, origin) },
    integration: integration && { id: `${integration.id} files`, credentials: null },
  };
  const found = await askFile(apis, asker, { path: pathname + search, answerMsMax, name }, signal);
  if ("problem" in found) throw unread(found);
  return found.bytes;
}

async function* cellsOf(file: Buffer): AsyncIterable<readonly string[]> {
  const rules = { delimiter: ",", lineBytesMax: csvLineBytesMax };
  for await (const { cells } of csvLines(Readable.from(partsOf(file)), rules)) yield cells;
}

/** One after the other, so that a large file does not hold up other calls. */
function* partsOf(file: Buffer): Generator<Buffer> {
  for (let start = 0; start < file.length; start += csvLineBytesMax) {
    yield file.subarray(start, start + csvLineBytesMax);
  }
}

function withoutCredentials(
  { requestsPerSecond, limitsAddress }: ProviderApi<unknown>,
  origin: string,
): ProviderApi<unknown> {
  return {
    baseUrl: () => origin,
    allowsCalls: () => true,
    authorize: async () => ({ headers: {}, until: Number.MAX_SAFE_INTEGER }),
    requestsPerSecond,
    ...(limitsAddress && { limitsAddress }),
  };
}

function unread({ for: how, problem }: Unread) {
  return how === "now"
    ? unavailable("provider_unavailable", problem)
    : unprocessable("payouts_unreadable", problem);
}
