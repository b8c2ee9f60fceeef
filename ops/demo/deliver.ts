/** Delivers an event as its providers do: signed, over HTTP, again while the endpoint says 503. */
import { setTimeout as pause } from "node:timers/promises";
import { signed } from "./integrations.js";
import type { Reported } from "./journal.js";
import type { Merchant } from "./merchant.js";

const attemptsMax = 8;
const pauseMs = 250;

/** @throws when it is refused, or the service stays unavailable */
export async function deliver(
  merchant: Merchant,
  { provider, body }: Reported,
  signal?: AbortSignal,
): Promise<void> {
  const { webhookPath, account } = merchant.integrations[provider];
  for (let attempt = 1; ; attempt += 1) {
    // Not given to fetch: it would leave a listener on the signal for every call.
    signal?.throwIfAborted();
    const delivery = signed(provider, account, body, Date.now());
    const response = await fetch(merchant.url + webhookPath, { method: "POST", ...delivery });
    const text = await response.text();
    if (response.ok) return;
    if (response.status !== 503 || attempt === attemptsMax) {
      throw new Error(`the webhook endpoint answered ${response.status}: ${text}`);
    }
    await pause(pauseMs * 2 ** attempt, undefined, { signal });
  }
}
