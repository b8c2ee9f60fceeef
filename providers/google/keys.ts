/**
 * Google's public keys, fetched as they are needed and kept as long as Google says
 * (`Cache-Control`). Keys change every few days and overlap. Source: developers.google.com
 * /identity/openid-connect/openid-connect#validatinganidtoken.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { z } from "zod";
import { KeysUnavailable } from "../provider.js";

export const googleKeysUrl = "https://www.googleapis.com/oauth2/v3/certs";

/** An unknown key id makes us ask again, but forged ones cannot make us ask more often. */
export const askAgainAfterMs = 60_000;
/** After a failure; the pushes in between come again. */
const retryAfterMs = 2_000;
const freshMsMin = 60_000;
const freshMsMax = 24 * 60 * 60 * 1000;
const answerMsMax = 5_000;
const answerBytesMax = 64 * 1024;
/** Google publishes two or three. */
const keysMax = 32;

const jwk = z
  .object({ kty: z.literal("RSA"), kid: z.string(), n: z.string(), e: z.string() })
  .transform(({ kid, ...key }, context) => {
    try {
      return { kid, key: createPublicKey({ key, format: "jwk" }) };
    } catch {
      context.addIssue({ code: "custom", message: "no RSA key" });
      return z.NEVER;
    }
  });
/** Keys of other kinds sign other things. */
export const jwkSet = z.object({
  keys: z.array(z.unknown()).max(keysMax),
});

export function keysOf(set: z.output<typeof jwkSet>): Map<string, KeyObject> {
  const known = set.keys.flatMap((each) => jwk.safeParse(each).data ?? []);
  return new Map(known.map(({ kid, key }) => [kid, key]));
}

export class PublishedKeys {
  #keys: ReadonlyMap<string, KeyObject> = new Map();
  /** ms since 1970, as given by callers: until when the keys count, and the last fetches. */
  #freshUntil = 0;
  #fetchedAt = -Infinity;
  #failedAt = -Infinity;
  #fetching: Promise<void> | null = null;

  constructor(private readonly url: string) {}

  /**
   * @returns null when Google has no such key
   * @throws KeysUnavailable when Google could not be asked
   */
  async find(kid: string, now: number): Promise<KeyObject | null> {
    // A clock that was set back says nothing about how old they are.
    const isFresh = now < this.#freshUntil && now >= this.#fetchedAt;
    const key = isFresh ? this.#keys.get(kid) : undefined;
    if (key !== undefined) return key;
    if (isFresh && now - this.#fetchedAt < askAgainAfterMs) return null;
    if (this.#fetching === null) {
      if (now >= this.#failedAt && now - this.#failedAt < retryAfterMs)
        throw new KeysUnavailable(this.url);
      this.#fetching = this.#fetch(now).finally(() => {
        this.#fetching = null;
      });
    }
    await this.#fetching;
    return this.#keys.get(kid) ?? null;
  }

  async #fetch(now: number): Promise<void> {
    try {
      const answer = await fetch(this.url, { signal: AbortSignal.timeout(answerMsMax) });
      if (!answer.ok) throw new Error(`answered ${answer.status}`);
      const set = jwkSet.parse(JSON.parse(await textOf(answer)));
      this.#keys = keysOf(set);
      this.#fetchedAt = now;
      this.#freshUntil = now + freshMsOf(answer.headers);
    } catch (error) {
      this.#failedAt = now;
      throw new KeysUnavailable(this.url, { cause: error });
    }
  }
}

async function textOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > answerBytesMax) throw new Error("the answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** `max-age` less the `Age` the answer already has, between a minute and a day. */
function freshMsOf(headers: globalThis.Headers): number {
  const maxAge = /\bmax-age=(\d{1,9})/.exec(headers.get("cache-control") ?? "")?.[1] ?? "0";
  const age = /^\d{1,9}$/.exec(headers.get("age") ?? "")?.[0] ?? "0";
  const left = (Number.parseInt(maxAge, 10) - Number.parseInt(age, 10)) * 1000;
  return Math.min(Math.max(left, freshMsMin), freshMsMax);
}
