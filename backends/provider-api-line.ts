/**
 * The line to one integration's API: so many calls a second and at once, retries with growing
 * pauses or as the provider asks, a circuit breaker, an authorization used while it is good.
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
import { limits } from "../config.js";
import type { ProviderApi } from "../providers/provider.js";
import { ApiRefusal, ApiTrouble, callApi, type CallLimits } from "./provider-api-call.js";

export type Asked =
  /** JSON text; null: the API has no such thing. */
  | { readonly outcome: "answered"; readonly text: string | null }
  /** No credentials that allow calls. */
  | { readonly outcome: "silent" }
  /** The same question would be refused again. */
  | { readonly outcome: "refused"; readonly detail: string }
  /** It may be answered later. */
  | { readonly outcome: "trouble"; readonly detail: string };

/** One GET. */
export interface AskedFor {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For one try; as patient as usual when left out. */
  readonly answerMsMax?: number;
}

export interface Patience {
  readonly answerMsMax: number;
  readonly bytesMax: number;
  readonly attemptsMax: number;
  readonly pauseMs: number;
  /** What the provider asks us to wait beyond this is not waited for: the event comes again. */
  readonly waitMsMax: number;
  readonly failuresMax: number;
  readonly leftAloneMs: number;
}

const silentMs = 60_000;
/** Whoever asks us to wait longer is called again after this: a wrong clock must not cut us off. */
const restMsMax = 60 * 60 * 1000;
/** An authorization is not used in its last moments: the call takes time, and clocks differ. */
const authorizationMarginMs = 30_000;

interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  readonly until: number;
}

export class ApiLine {
  /** Events whose questions are asked at a time; the others wait, however many. */
  readonly events: IPolicy = bulkhead(limits.enrichmentAtOnceMax, Number.POSITIVE_INFINITY);
  readonly #api: ProviderApi<unknown>;
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

  /** @param url instead of the API's own base URL */
  constructor(
    api: ProviderApi<unknown>,
    credentials: unknown,
    url: string | undefined,
    patience: Patience,
  ) {
    this.#api = api;
    this.#credentials = credentials;
    this.#credentialsText = JSON.stringify(credentials);
    this.#baseUrl = url ?? api.baseUrl(credentials);
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

  async ask(question: AskedFor, signal: AbortSignal): Promise<Asked> {
    const { answerMsMax } = question;
    const bounds = { ...this.#bounds(signal), ...(answerMsMax && { answerMsMax }) };
    try {
      return await unlessAborted(
        signal,
        this.#atOnce.execute(() => this.#tryAll(question, bounds)),
      );
    } catch (error) {
      if (error instanceof ApiRefusal) return { outcome: "refused", detail: error.message };
      return { outcome: "trouble", detail: detailOf(error, signal) };
    }
  }

  async #tryAll(question: AskedFor, bounds: CallLimits): Promise<Asked> {
    const { signal } = bounds;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await this.#breaker.execute(() => this.#tryOnce(question, bounds));
      } catch (error) {
        const { attemptsMax, pauseMs, waitMsMax } = this.#patience;
        if (!(error instanceof ApiTrouble)) throw error;
        const { retryAfterMs } = error;
        if (retryAfterMs !== null) this.#waitUntil = Date.now() + Math.min(retryAfterMs, restMsMax);
        // Half to the whole of a doubling pause, so that many do not come again at once.
        const ms = retryAfterMs ?? pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
        if (attempt >= attemptsMax || ms > waitMsMax) throw error;
        await pause(ms, undefined, { signal });
      }
    }
  }

  async #tryOnce({ path, headers: own }: AskedFor, bounds: CallLimits): Promise<Asked> {
    const { signal } = bounds;
    const authorization = await this.#authorize(signal);
    if (authorization === null) return { outcome: "silent" };
    const wait = this.#waitUntil - Date.now();
    if (wait > this.#patience.waitMsMax) throw new ApiTrouble("asks us to wait", wait, false);
    if (wait > 0) await pause(wait, undefined, { signal });
    await this.#turns.removeTokens(1);
    signal.throwIfAborted();
    const { headers } = authorization;
    try {
      const text = await callApi(
        this.#baseUrl + path,
        { headers: { accept: "application/json", ...own, ...headers } },
        bounds,
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
      const text = await callApi(url, { method: "POST", body }, this.#bounds(signal));
      if (text === null || !isJson(text)) throw new ApiTrouble("an authorization that is no JSON");
      return JSON.parse(text);
    };
    return this.#api.authorize(this.#credentials, Date.now(), post);
  }

  #bounds(signal: AbortSignal): CallLimits {
    const { answerMsMax, bytesMax } = this.#patience;
    return { answerMsMax, bytesMax, signal };
  }
}

/** A turn that is waited for cannot be given back; nobody waits for it past the signal. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  // When the race is lost its failure is of no interest any more.
  work.catch(() => undefined);
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
