/**
 * Calls of providers' APIs. Each integration has a line of its own, so that a dead API costs its
 * own events some seconds and other integrations nothing; answers may serve further events.
 */
import { LRUCache } from "lru-cache";
import type { Config } from "../../config.js";
import type { Provider, ProviderToken } from "../provider.js";
import { FreshAnswers } from "./fresh-answers.js";
import type { Metrics } from "../../runtime/metrics.js";
import {
  ApiLine,
  type Asked,
  type AskedFor,
  type Downloaded,
  Pace,
  type Patience,
} from "./integration-client.js";

/** Integrations whose calls are regulated at a time; the longest unused is forgotten. */
const apiLinesMax = 1_000;
/** Answers kept for further events, and the largest that is. */
const apiAnswersKeptMax = 2_000;
const apiAnswerKeptBytesMax = 32 * 1024;

/** Whose credentials a question is asked with. */
export interface Asker {
  readonly provider: Provider;
  /** Of the integration; one that is unknown or deleted asks nothing. */
  readonly integration: { readonly id: string; readonly credentials: unknown } | null;
}

interface Asking extends AskedFor {
  readonly freshForMs: number;
}

export interface ProviderApis {
  /** Who asks the same at the same time shares the call, if it may be fresh. Never rejects. */
  ask(asker: Asker, question: Asking, signal: AbortSignal): Promise<Asked>;
  /** One file. Never rejects. */
  download(asker: Asker, question: AskedFor, signal: AbortSignal): Promise<Downloaded>;
  /** Runs `work`, which asks, when few others of the integration do. */
  inTurn<T>(asker: Asker, work: () => Promise<T>): Promise<T>;
}

const usualPatience: Patience = {
  /** One call of a provider's API: its answer, its tries, the pause doubling from this. */
  answerMsMax: 10_000,
  bytesMax: 16 * 1024 * 1024,
  attemptsMax: 3,
  pauseMs: 500,
  /** What a provider asks us to wait, of which an event waits no more. */
  waitMsMax: 10_000,
  /** Failures in a row after which an integration's API is left alone, and for how long. */
  failuresMax: 5,
  halfOpenAfterMs: 15_000,
};

/** A pause is no longer than so many calls take of an API that takes hundreds a second. */
const pauseCalls = 50;

export function openProviderApis(
  config: Config,
  options: { readonly metrics?: Pick<Metrics, "questions">; readonly patience?: Patience } = {},
): ProviderApis {
  const { metrics, patience = usualPatience } = options;
  const lines = new LRUCache<string, ApiLine>({ max: apiLinesMax });
  /** Of providers that count the calls of an address. */
  const addressPaces = new Map<ProviderToken, Pace>();
  const fresh = new FreshAnswers({
    entriesMax: apiAnswersKeptMax,
    bytesMax: apiAnswerKeptBytesMax,
  });

  /** Null: there is nobody to ask. */
  function lineOf({ provider, integration }: Asker): ApiLine | null {
    const { api, token } = provider;
    if (integration === null || api === undefined) return null;
    const { id, credentials } = integration;
    const known = lines.get(id);
    // New credentials begin anew: what the old ones ran into says nothing about them.
    if (known?.isFor(credentials)) return known;
    const requestsPerSecond = config.PROVIDER_CALLS_PER_SECOND ?? api.requestsPerSecond;
    const pace = addressPaces.get(token) ?? new Pace({ requestsPerSecond });
    if (api.limitsAddress === true) addressPaces.set(token, pace);
    const pauseMs = Math.min(patience.pauseMs, (pauseCalls * 1_000) / requestsPerSecond);
    const calmly = { ...patience, pauseMs };
    const line = new ApiLine(api, credentials, apiUrl(config, token), calmly, pace);
    lines.set(id, line);
    return line;
  }

  function counted<One extends Asked | Downloaded>({ token: provider }: Provider, asked: One): One {
    const { outcome } = asked;
    if (outcome !== "silent") metrics?.questions.inc({ provider, outcome });
    return asked;
  }

  return {
    async ask(asker, question, signal) {
      const { provider, integration } = asker;
      const line = lineOf(asker);
      if (line === null || integration === null) return { outcome: "silent" };
      const named = { name: nameOf(question), freshForMs: question.freshForMs };
      return fresh.get(integration.id, named, signal, async () =>
        counted(provider, await line.ask(question, signal)),
      );
    },
    async download(asker, question, signal) {
      const line = lineOf(asker);
      if (line === null) return { outcome: "silent" };
      return counted(asker.provider, await line.download(question, signal));
    },
    inTurn(asker, work) {
      return lineOf(asker)?.events.execute(work) ?? work();
    },
  };
}

/** The same path is another question in another account. */
function nameOf({ path, headers }: Pick<Asking, "path" | "headers">): string {
  return headers === undefined ? path : `${JSON.stringify(headers)} ${path}`;
}

/** Scheme and host of the setting `<TOKEN>_API_URL`; absent: as the credentials say. */
export function apiUrl(config: Config, token: ProviderToken): string | undefined {
  const settings: Readonly<Record<string, unknown>> = config;
  const url = settings[`${token.toUpperCase()}_API_URL`];
  return typeof url === "string" ? url : undefined;
}
