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
import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { RateLimiterMemory, RateLimiterQueue } from "rate-limiter-flexible";
import type { ProviderApi } from "../provider.js";
import { ApiRefusal, ApiTrouble, callApi, callForBytes, type CallLimits } from "./call.js";

/** Events of one integration that ask at a time, and how long each may take from then on. */
const enrichmentAtOnceMax = 20;
/** Calls at once for one integration, and calls that wait; the next fails at once. */
const apiCallsAtOnceMax = 4;
const apiCallsWaitingMax = 1_000;

export type Asked =
  /** JSON text; null: the API has no such thing. */
  { readonly outcome: "answered"; readonly text: string | null } | Unanswered;
export type Downloaded = Answered<Buffer> | Unanswered;

interface Answered<Answer> {
  readonly outcome: "answered";
  readonly answer: Answer | null;
}

type Unanswered =
  /** No credentials that allow calls. */
  | { readonly outcome: "silent" }
  /** The same question would be refused again. */
  | { readonly outcome: "refused"; readonly detail: string }
  /** It may be answered later. */
  | { readonly outcome: "trouble"; readonly detail: string };

/** One GET, or a POST of JSON. */
export interface AskedFor {
  readonly path: string;
  readonly json?: object | undefined;
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
  readonly halfOpenAfterMs: number;
}

/** An API that asks for a longer wait is called again after this: its clock may be wrong. */
const restMsMax = 60 * 60 * 1000;
const jsonHeaders = { "content-type": "application/json" };
/** An authorization is not used in its last moments: the call takes time, and clocks differ. */
const authorizationMarginMs = 30_000;

type Authorization = NonNullable<Awaited<ReturnType<ProviderApi<unknown>["authorize"]>>>;

/** An authorization, from when it is asked for. Times are those of a clock that is never set. */
interface Given {
  readonly authorization: Promise<Authorization | null>;
  usableUntil: number;
  /** A call was answered with it. */
  isProven: boolean;
}

/** What the API took before, it takes no more: it was withdrawn, or ended before its time. */
class Withdrawn extends ApiRefusal {}

/** So many calls a second, and none while the provider asks to wait. */
export class Pace {
  readonly #turns: RateLimiterQueue;
  /** On `performance.now()`. */
  #restUntil = 0;

  constructor({ requestsPerSecond }: Pick<ProviderApi<unknown>, "requestsPerSecond">) {
    this.#turns = new RateLimiterQueue(
      new RateLimiterMemory({ points: requestsPerSecond, duration: 1 }),
      { maxQueueSize: apiCallsWaitingMax },
    );
  }

  rest(ms: number): void {
    this.#restUntil = performance.now() + Math.min(ms, restMsMax);
  }

  /** @throws ApiTrouble where the provider asks for a longer wait */
  async turn(waitMsMax: number, signal: AbortSignal): Promise<void> {
    const wait = this.#restUntil - performance.now();
    if (wait > waitMsMax) throw new ApiTrouble("asks us to wait", wait, false);
    if (wait > 0) await pause(wait, undefined, { signal });
    await this.#turns.removeTokens(1);
    signal.throwIfAborted();
  }
}

export class ApiLine {
  /** Events whose questions are asked at a time; the others wait, however many. */
  readonly events: IPolicy = bulkhead(enrichmentAtOnceMax, Number.POSITIVE_INFINITY);
  readonly #api: ProviderApi<unknown>;
  readonly #credentials: unknown;
  readonly #credentialsText: string;
  readonly #baseUrl: string;
  readonly #patience: Patience;
  readonly #pace: Pace;
  readonly #atOnce: IPolicy = bulkhead(apiCallsAtOnceMax, apiCallsWaitingMax);
  readonly #breaker: IPolicy;
  #given: Given | null = null;

  /**
   * @param url instead of the API's own base URL
   * @param pace shared where the provider counts the calls of an address
   */
  constructor(
    api: ProviderApi<unknown>,
    credentials: unknown,
    url: string | undefined,
    patience: Patience,
    pace: Pace,
  ) {
    this.#api = api;
    this.#credentials = credentials;
    this.#credentialsText = JSON.stringify(credentials);
    this.#baseUrl = url ?? api.baseUrl(credentials);
    this.#patience = patience;
    this.#pace = pace;
    this.#breaker = circuitBreaker(
      handleWhen((error) => error instanceof ApiTrouble && error.isFailure),
      {
        halfOpenAfter: patience.halfOpenAfterMs,
        breaker: new ConsecutiveBreaker(patience.failuresMax),
      },
    );
  }

  isFor(credentials: unknown): boolean {
    return JSON.stringify(credentials) === this.#credentialsText;
  }

  async ask(question: AskedFor, signal: AbortSignal): Promise<Asked> {
    const asked = await this.#answer(question, signal, jsonText);
    return asked.outcome === "answered" ? { outcome: "answered", text: asked.answer } : asked;
  }

  /** A file. */
  download(question: AskedFor, signal: AbortSignal): Promise<Downloaded> {
    return this.#answer(question, signal, (bytes) => bytes);
  }

  /** @param read throws ApiTrouble where the bytes are no answer */
  async #answer<Answer>(
    question: AskedFor,
    signal: AbortSignal,
    read: (bytes: Buffer) => Answer,
  ): Promise<Answered<Answer> | Unanswered> {
    const { answerMsMax } = question;
    const bounds = { ...this.#bounds(signal), ...(answerMsMax && { answerMsMax }) };
    try {
      return await unlessAborted(
        signal,
        this.#atOnce.execute(() => this.#tryAll(question, bounds, read)),
      );
    } catch (error) {
      if (error instanceof ApiRefusal) return { outcome: "refused", detail: error.message };
      return { outcome: "trouble", detail: detailOf(error, signal) };
    }
  }

  async #tryAll<Answer>(
    question: AskedFor,
    bounds: CallLimits,
    read: (bytes: Buffer) => Answer,
  ): Promise<Answered<Answer> | Unanswered> {
    const { signal } = bounds;
    let isRenewed = false;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await this.#breaker.execute(() => this.#tryOnce(question, bounds, read));
      } catch (error) {
        if (error instanceof Withdrawn && !isRenewed) {
          isRenewed = true;
          continue;
        }
        const { attemptsMax, pauseMs, waitMsMax } = this.#patience;
        if (!(error instanceof ApiTrouble)) throw error;
        const { retryAfterMs } = error;
        if (retryAfterMs !== null) this.#pace.rest(retryAfterMs);
        // Half to the whole of a doubling pause, so that many do not come again at once.
        const ms = retryAfterMs ?? pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
        if (attempt >= attemptsMax || ms > waitMsMax) throw error;
        await pause(ms, undefined, { signal });
      }
    }
  }

  async #tryOnce<Answer>(
    { path, json, headers: own }: AskedFor,
    bounds: CallLimits,
    read: (bytes: Buffer) => Answer,
  ): Promise<Answered<Answer> | Unanswered> {
    const { signal } = bounds;
    const given = this.#authorize(signal);
    const authorization = await given.authorization;
    if (authorization === null) return { outcome: "silent" };
    await this.#pace.turn(this.#patience.waitMsMax, signal);
    const { headers } = authorization;
    try {
      const bytes = await callForBytes(
        this.#baseUrl + path,
        {
          headers: { accept: "application/json", ...own, ...headers, ...(json && jsonHeaders) },
          ...(json && { method: "POST", body: JSON.stringify(json) }),
        },
        {
          ...bounds,
          meaningOf: this.#api.meaningOf,
          onHeaders: (answered) => {
            const ms = this.#api.restMsOf?.(answered) ?? null;
            if (ms !== null) this.#pace.rest(ms);
          },
        },
      );
      given.isProven = true;
      return { outcome: "answered", answer: bytes === null ? null : read(bytes) };
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status !== 401) throw error;
      // The next call asks for another; who asked for one meanwhile keeps that.
      if (this.#given === given) this.#given = null;
      throw given.isProven ? new Withdrawn(error.message, error.status) : error;
    }
  }

  #authorize(signal: AbortSignal): Given {
    const began = performance.now();
    if (this.#given !== null && this.#given.usableUntil > began) return this.#given;
    const now = Date.now();
    // Meanwhile all share this one; then it says itself for how long.
    const given: Given = {
      authorization: this.#askAuthorization(now, signal),
      usableUntil: Number.POSITIVE_INFINITY,
      isProven: false,
    };
    void this.#time(given, now, began);
    this.#given = given;
    return given;
  }

  /** @param now ms since 1970 when it was asked for, as `began` is on `performance.now()` */
  async #time(given: Given, now: number, began: number): Promise<void> {
    try {
      const reported = await given.authorization;
      given.usableUntil =
        reported === null ? 0 : began + reported.until - now - authorizationMarginMs;
    } catch {
      given.usableUntil = 0; // the caller gets the error
    }
  }

  async #askAuthorization(now: number, signal: AbortSignal): Promise<Authorization | null> {
    const post = async (url: string, form: Readonly<Record<string, string>>): Promise<unknown> => {
      const body = new URLSearchParams(form);
      const text = await callApi(url, { method: "POST", body }, this.#bounds(signal));
      if (text === null || !isJson(text)) throw new ApiTrouble("an authorization that is no JSON");
      return JSON.parse(text);
    };
    return this.#api.authorize(this.#credentials, now, post);
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
  // Each question of an event listens; their number is limited elsewhere.
  setMaxListeners(0, signal);
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

/** @throws ApiTrouble */
function jsonText(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!isJson(text)) throw new ApiTrouble("an answer that is no JSON");
  return text;
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
