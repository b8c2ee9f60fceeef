/**
 * Calls of providers' APIs. Each integration has a line of its own: so many calls a second and at
 * once, retries with growing pauses or as the provider asks, and a circuit breaker, so that a dead
 * API costs its own events some seconds and other integrations nothing.
 */
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  ConsecutiveBreaker,
  type IPolicy,
  bulkhead,
  circuitBreaker,
  handleWhen,
} from "cockatiel";
import { setTimeout as pause } from "node:timers/promises";
import { RateLimiterMemory, RateLimiterQueue } from "rate-limiter-flexible";
import { type Config, limits } from "../config.js";
import type { Provider, ProviderToken } from "../providers/provider.js";
import { FreshAnswers } from "./fresh-answers.js";
import { ApiRefusal, ApiTrouble, callApi } from "./provider-api-call.js";

/** Whose credentials a question is asked with. */
export interface Asker {
  readonly provider: Provider;
  /** Of the integration; one that is unknown or deleted asks nothing. */
  readonly integration: { readonly id: string; readonly credentials: unknown } | null;
}

export type Asked =
  /** JSON text; null: the API has no such thing. */
  | { readonly outcome: "answered"; readonly text: string | null }
  /** No credentials that allow calls. */
  | { readonly outcome: "silent" }
  /** The same question would be refused again. */
  | { readonly outcome: "refused"; readonly detail: string }
  /** It may be answered later. */
  | { readonly outcome: "trouble"; readonly detail: string };

export interface ProviderApis {
  /** Callers who ask the same at the same time share one call. Never rejects. */
  ask(
    asker: Asker,
    question: { readonly path: string; readonly freshForMs: number },
    signal: AbortSignal,
  ): Promise<Asked>;
  /** Whether it was answered lately enough to serve again. */
  isFresh(integration: string, path: string): boolean;
  /** Its credentials were found to allow no calls, a minute ago at most. */
  isSilent(integration: string): boolean;
}

export interface Patience {
  readonly answerMsMax: number;
  readonly bytesMax: number;
  readonly attemptsMax: number;
  readonly pauseMs: number;
  readonly failuresMax: number;
  readonly leftAloneMs: number;
}

const usualPatience: Patience = {
  answerMsMax: limits.apiAnswerMsMax,
  bytesMax: limits.apiAnswerBytesMax,
  attemptsMax: limits.apiAttemptsMax,
  pauseMs: limits.apiPauseMs,
  failuresMax: limits.apiFailuresMax,
  leftAloneMs: limits.apiLeftAloneMs,
};
const silentMs = 60_000;
/** An authorization is not used in its last moments: the call takes time, and clocks differ. */
const authorizationMarginMs = 30_000;

export function openProviderApis(config: Config, patience: Patience = usualPatience): ProviderApis {
  const lines = new Map<string, Line>();
  const fresh = new FreshAnswers({
    entriesMax: limits.apiAnswersKeptMax,
    bytesMax: limits.apiAnswerKeptBytesMax,
  });

  function lineOf(provider: Provider, integration: { id: string; credentials: unknown }): Line {
    const known = lines.get(integration.id);
    // New credentials begin anew: what the old ones ran into says nothing about them.
    const same = known !== undefined && known.isFor(integration.credentials);
    const line = same ? known : new Line(provider, integration.credentials, config, patience);
    // Back to the end: the map's order is the order of use.
    lines.delete(integration.id);
    lines.set(integration.id, line);
    const oldest = lines.keys().next();
    if (lines.size > limits.apiLinesMax && !oldest.done) lines.delete(oldest.value);
    return line;
  }

  return {
    async ask({ provider, integration }, { path, freshForMs }, signal) {
      if (integration === null || provider.api === undefined) return { outcome: "silent" };
      const line = lineOf(provider, integration);
      return fresh.get(integration.id, path, freshForMs, () => line.ask(path, signal));
    },
    isFresh: (integration, path) => fresh.has(integration, path),
    isSilent: (integration) => lines.get(integration)?.isSilent ?? false,
  };
}

interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  readonly until: number;
}

class Line {
  readonly #provider: Provider;
  readonly #credentials: unknown;
  readonly #credentialsText: string;
  readonly #baseUrl: string;
  readonly #patience: Patience;
  readonly #turns: RateLimiterQueue;
  readonly #atOnce: IPolicy = bulkhead(limits.apiCallsAtOnceMax, limits.apiCallsWaitingMax);
  readonly #breaker: IPolicy;
  #authorization: Promise<Authorization | null> | null = null;
  #usableUntil = 0;
  #silentUntil = 0;
  /** ms since 1970: the provider asked all calls to wait. */
  #waitUntil = 0;

  constructor(provider: Provider, credentials: unknown, config: Config, patience: Patience) {
    const { api } = provider;
    if (api === undefined) throw new Error(`${provider.token} has no API`);
    this.#provider = provider;
    this.#credentials = credentials;
    this.#credentialsText = JSON.stringify(credentials);
    this.#baseUrl = apiUrl(config, provider.token) ?? api.baseUrl(credentials);
    this.#patience = patience;
    this.#turns = new RateLimiterQueue(
      new RateLimiterMemory({ points: api.requestsPerSecond, duration: 1 }),
      { maxQueueSize: limits.apiCallsWaitingMax },
    );
    this.#breaker = circuitBreaker(
      handleWhen((error) => error instanceof ApiTrouble && error.isFailure),
      {
        halfOpenAfter: patience.leftAloneMs,
        breaker: new ConsecutiveBreaker(patience.failuresMax),
      },
    );
  }

  isFor(credentials: unknown): boolean {
    return JSON.stringify(credentials) === this.#credentialsText;
  }

  get isSilent(): boolean {
    return this.#silentUntil > Date.now();
  }

  async ask(path: string, signal: AbortSignal): Promise<Asked> {
    try {
      return await unlessAborted(
        signal,
        this.#atOnce.execute(() => this.#tryAll(path, signal)),
      );
    } catch (error) {
      if (error instanceof ApiRefusal) return { outcome: "refused", detail: error.message };
      return { outcome: "trouble", detail: detailOf(error, signal) };
    }
  }

  async #tryAll(path: string, signal: AbortSignal): Promise<Asked> {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await this.#breaker.execute(() => this.#tryOnce(path, signal));
      } catch (error) {
        const { attemptsMax, pauseMs } = this.#patience;
        if (!(error instanceof ApiTrouble) || attempt >= attemptsMax) throw error;
        // Half to the whole of a doubling pause, so that many do not come again at once.
        const ms = error.retryAfterMs ?? pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
        if (error.retryAfterMs !== null) this.#waitUntil = Date.now() + error.retryAfterMs;
        await pause(ms, undefined, { signal });
      }
    }
  }

  async #tryOnce(path: string, signal: AbortSignal): Promise<Asked> {
    const authorization = await this.#authorize(signal);
    if (authorization === null) return { outcome: "silent" };
    const wait = this.#waitUntil - Date.now();
    if (wait > 0) await pause(wait, undefined, { signal });
    await this.#turns.removeTokens(1);
    signal.throwIfAborted();
    const { headers } = authorization;
    try {
      const text = await callApi(
        this.#baseUrl + path,
        { headers: { accept: "application/json", ...headers } },
        this.#limits(signal),
      );
      if (text !== null && !isJson(text)) throw new ApiTrouble("an answer that is no JSON");
      return { outcome: "answered", text };
    } catch (error) {
      // It may have been withdrawn before its time: the next call asks for another.
      if (error instanceof ApiRefusal && error.status === 401) this.#authorization = null;
      throw error;
    }
  }

  #authorize(signal: AbortSignal): Promise<Authorization | null> {
    if (this.#authorization !== null && this.#usableUntil > Date.now()) return this.#authorization;
    // Meanwhile all share this one; then it says itself for how long.
    this.#usableUntil = Number.POSITIVE_INFINITY;
    this.#authorization = this.#newAuthorization(signal);
    return this.#authorization;
  }

  async #newAuthorization(signal: AbortSignal): Promise<Authorization | null> {
    try {
      const given = await this.#askAuthorization(signal);
      this.#usableUntil = given === null ? 0 : given.until - authorizationMarginMs;
      if (given === null) this.#silentUntil = Date.now() + silentMs;
      return given;
    } catch (error) {
      this.#usableUntil = 0;
      throw error;
    }
  }

  async #askAuthorization(signal: AbortSignal): Promise<Authorization | null> {
    const post = async (url: string, form: Readonly<Record<string, string>>): Promise<unknown> => {
      const body = new URLSearchParams(form);
      const text = await callApi(url, { method: "POST", body }, this.#limits(signal));
      if (text === null || !isJson(text)) throw new ApiTrouble("an authorization that is no JSON");
      return JSON.parse(text);
    };
    return (await this.#provider.api?.authorize(this.#credentials, Date.now(), post)) ?? null;
  }

  #limits(signal: AbortSignal) {
    const { answerMsMax, bytesMax } = this.#patience;
    return { answerMsMax, bytesMax, signal };
  }
}

/** Scheme and host of the setting `<TOKEN>_API_URL`; absent: as the credentials say. */
function apiUrl(config: Config, token: ProviderToken): string | undefined {
  const urls: Partial<Record<ProviderToken, string | undefined>> = {
    stripe: config.STRIPE_API_URL,
    paddle: config.PADDLE_API_URL,
    lemonsqueezy: config.LEMONSQUEEZY_API_URL,
    revenuecat: config.REVENUECAT_API_URL,
    gumroad: config.GUMROAD_API_URL,
    apple: config.APPLE_API_URL,
    google: config.GOOGLE_API_URL,
  };
  return urls[token];
}

/** A turn that is waited for cannot be given back; nobody waits for it past the signal. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new ApiTrouble("no answer in time"));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
    // Lost the race: its failure is of no interest any more.
    work.catch(() => undefined);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** For a person; never what the credentials are. */
function detailOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof BrokenCircuitError) return "left alone after repeated failures";
  if (error instanceof BulkheadRejectedError) return "too many questions wait";
  if (signal.aborted) return "no answer in time";
  if (error instanceof ApiTrouble) return error.message;
  return error instanceof Error ? error.name : "unknown";
}
