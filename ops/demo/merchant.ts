/** The demo's merchant, as the service knows it: a workspace, its integrations and a key. */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { mrrAnswer } from "../../api/mrr/schema.js";
import { account, demoTokens } from "./integrations.js";

export const merchant = z.object({
  key: z.string(),
  integrations: z.record(z.enum(demoTokens), z.object({ webhookPath: z.string(), account })),
});
export interface Merchant extends z.output<typeof merchant> {
  /** Where the service answers, without a slash at the end. */
  readonly url: string;
}

/** Whom is asked, and as whom. */
export type Asked = Pick<Merchant, "url" | "key">;

/** @param path with its query. @throws when the answer is not 200 or not of the shape */
export async function ask<T>(from: Asked, path: string, shape: z.ZodType<T>): Promise<T> {
  const response = await fetch(from.url + path, {
    headers: { authorization: `Bearer ${from.key}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return shape.parse(JSON.parse(text));
}

const recheckMs = 200;
/** Booking that gets no further for so long is stuck. */
const standstillMsMax = 120_000;

/** Resolves when everything taken so far is booked. */
export async function whenBooked(
  from: Asked,
  options: {
    readonly signal?: AbortSignal;
    /** @param completeTo ms since 1970 */
    readonly onProgress?: (completeTo: number) => void;
  } = {},
): Promise<void> {
  const takenBy = Date.now();
  let before = 0;
  let movedAt = takenBy;
  while (before < takenBy) {
    const { complete_to } = await ask(from, "/v1/metrics/mrr", mrrAnswer);
    const completeTo = Date.parse(complete_to);
    options.onProgress?.(completeTo);
    if (completeTo > before) movedAt = Date.now();
    before = completeTo;
    if (Date.now() - movedAt > standstillMsMax) throw new Error(`booked only up to ${complete_to}`);
    if (before < takenBy) await pause(recheckMs, undefined, { signal: options.signal });
  }
}
