/** The state of a sign-in under way, in a cookie that only this service can read. */
import type { Context } from "koa";
import type { z } from "zod";
import { readCookie, setCookie } from "../../http/cookies.js";
import { type Vault, SealBroken } from "../../stores/vault/vault.js";

const secondsMax = 10 * 60;

export class SealedCookie<Value> {
  constructor(
    private readonly name: string,
    private readonly shape: z.ZodType<Value>,
    private readonly vault: Vault,
  ) {}

  write(ctx: Context, value: Value, now: Date): void {
    const until = now.getTime() + secondsMax * 1000;
    const sealed = this.vault.seal(Buffer.from(JSON.stringify({ until, value })), this.#associated);
    setCookie(ctx, this.name, sealed.toString("base64url"), secondsMax);
  }

  /**
   * Removes the cookie, too.
   * @returns null when there is none, or it is too old
   */
  take(ctx: Context, now: Date): Value | null {
    const text = readCookie(ctx.req, this.name);
    if (text === undefined) return null;
    setCookie(ctx, this.name, null, 0);
    try {
      const plain = this.vault.open(Buffer.from(text, "base64url"), this.#associated);
      const { until, value }: { until: unknown; value: unknown } = JSON.parse(plain.toString());
      if (typeof until !== "number" || until <= now.getTime()) return null;
      return this.shape.parse(value);
    } catch (error) {
      if (error instanceof SealBroken) return null;
      throw error;
    }
  }

  get #associated(): Buffer {
    return Buffer.from(`cookie:${this.name}`);
  }
}

/** How long its contents are valid, and single-use values are remembered. */
export const sealedCookieMsMax = secondsMax * 1000;
