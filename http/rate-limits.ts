/**
 * Limits calls per API key, and refusals and registrations per address. Genuine webhooks are not
 * counted; the log's capacity limits them. Counted in this process, in windows of one second,
 * registrations of a minute (`rate-limiter-flexible`, in memory, bounded by the calls of a window).
 */
import type { Context } from "koa";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Config, limits } from "../config.js";
import { ApiError } from "../schemas/http/errors.js";

export class CallLimits {
  readonly #perKey: Window;
  readonly #refused: Window;
  readonly #registered = new Window("register", limits.oauthRegistrationsPerMinuteMax, 60);

  constructor(config: Pick<Config, "RATE_LIMIT_PER_KEY" | "RATE_LIMIT_REFUSED">) {
    this.#perKey = new Window("key", config.RATE_LIMIT_PER_KEY);
    this.#refused = new Window("refused", config.RATE_LIMIT_REFUSED);
  }

  /** @throws ApiError 429; @returns the headers the answer carries */
  async countKey(keyId: string): Promise<Readonly<Record<string, string>>> {
    const used = await this.#perKey.count(keyId);
    if (used.over) throw limited("rate_limited", "Too many calls with this key.", used.headers);
    return used.headers;
  }

  /** Of programs, by anybody (RFC 7591). @throws ApiError 429 */
  async countRegistration({ ip }: Pick<Context, "ip">): Promise<void> {
    const used = await this.#registered.count(network(ip));
    if (used.over) throw limited("rate_limited", "Too many registrations.", used.headers);
  }

  /**
   * The answer to a refused caller: the refusal itself, or 429 for an address that was refused too
   * often. Only callers that proved nothing are counted.
   */
  async refuse(ctx: Pick<Context, "ip" | "state">, error: ApiError): Promise<ApiError> {
    const guess = [401, 404].includes(error.status) || error.code === "invalid_grant";
    if (!guess || ctx.state.caller !== undefined) return error;
    const used = await this.#refused.count(network(ctx.ip));
    if (!used.over) return error;
    return limited("refused_too_often", "Too many refused calls from this address.", used.headers);
  }
}

interface Used {
  readonly over: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** One limit; its headers are those of draft-ietf-httpapi-ratelimit-headers-10. */
class Window {
  readonly #limiter: RateLimiterMemory;
  readonly #policy: string;

  constructor(
    readonly name: string,
    readonly callsMax: number,
    seconds = 1,
  ) {
    this.#limiter = new RateLimiterMemory({ points: callsMax, duration: seconds });
    this.#policy = `"${name}";q=${callsMax};w=${seconds}`;
  }

  async count(who: string): Promise<Used> {
    try {
      return this.#used(await this.#limiter.consume(who), false);
    } catch (thrown) {
      // The library rejects with its result, not with an error, when the limit is passed.
      if (thrown instanceof RateLimiterRes) return this.#used(thrown, true);
      throw thrown;
    }
  }

  #used(result: RateLimiterRes, over: boolean): Used {
    const seconds = Math.max(1, Math.ceil(result.msBeforeNext / 1000));
    return {
      over,
      headers: {
        "RateLimit-Policy": this.#policy,
        RateLimit: `"${this.name}";r=${result.remainingPoints};t=${seconds}`,
        ...(over ? { "Retry-After": String(seconds) } : {}),
      },
    };
  }
}

function limited(code: string, message: string, headers: Readonly<Record<string, string>>) {
  return new ApiError(429, "rate_limited", code, message, { headers });
}

/** An IPv6 customer owns a /64 at least, so limiting single addresses would limit nobody. */
function network(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address;
  const groupsOf = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const [start = [], end] = address.split("::").map(groupsOf);
  // A run of zeros is left out, once, and may begin within the network.
  const zeros = end === undefined ? 0 : ipv6Groups - start.length - end.length;
  const groups = [...start, ...Array<string>(Math.max(0, zeros)).fill("0"), ...(end ?? [])];
  return groups.slice(0, ipv6Groups / 2).join(":");
}

const ipv6Groups = 8;
