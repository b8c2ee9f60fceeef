/** One call of a provider's API: bounded in time and size, its failures of two kinds. */
import type { FailureMeaning, ProviderApi } from "../provider.js";
import { withDeadline } from "../../runtime/deadline.js";

/** It may work later: no connection, no answer in time, 429, 5xx, an answer that is none. */
export class ApiTrouble extends Error {
  override readonly name = "ApiTrouble";
  constructor(
    message: string,
    /** How long the provider asks us to wait; null when it does not say. */
    readonly retryAfterMs: number | null = null,
    /** False for 429: the API works, we are too fast. */
    readonly isFailure = true,
  ) {
    super(message);
  }
}

/** Asking the same again would be refused again: credentials that may not, a wrong path. */
export class ApiRefusal extends Error {
  override readonly name = "ApiRefusal";
  constructor(
    message: string,
    readonly status: number,
    /** The answer, where the caller wants to read it. */
    readonly text = "",
  ) {
    super(message);
  }
}

export interface CallLimits {
  readonly answerMsMax: number;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  /** Where the provider's answers say more than their status. */
  readonly meaningOf?: ProviderApi<unknown>["meaningOf"] | undefined;
  /** Of any answer. */
  readonly onHeaders?: (headers: Headers) => void;
  /** The text of a refusal is kept, for a person. */
  readonly readsRefusals?: boolean;
}

type Init = Pick<RequestInit, "method" | "headers" | "body">;

/**
 * @returns the answer's text; null: there is no such thing
 * @throws ApiTrouble, ApiRefusal
 */
export async function callApi(url: string, init: Init, limits: CallLimits): Promise<string | null> {
  return (await callForBytes(url, init, limits))?.toString("utf8") ?? null;
}

/** The same of an answer that need not be text. */
export async function callForBytes(
  url: string,
  init: Init,
  limits: CallLimits,
): Promise<Buffer | null> {
  // The time limit covers the body too: a server may answer at once and then send for ever.
  return withDeadline(limits.answerMsMax, limits.signal, async (signal) => {
    try {
      // A redirected call would take the credentials along to where they do not belong.
      const response = await fetch(url, { ...init, signal, redirect: "error" });
      limits.onHeaders?.(response.headers);
      if (response.ok) return await readBody(response, limits.bytesMax);
      const { readsRefusals = false, meaningOf } = limits;
      const isRead = readsRefusals || meaningOf !== undefined;
      const text = isRead ? (await readBody(response, limits.bytesMax)).toString("utf8") : "";
      await response.body?.cancel();
      const meaning = meaningOf?.(response.status, text) ?? meaningOfStatus(response.status);
      return withoutAnswer(response, text, meaning);
    } catch (error) {
      if (error instanceof ApiRefusal || error instanceof ApiTrouble) throw error;
      const why = signal.aborted ? "no answer in time" : `no connection: ${reason(error)}`;
      throw new ApiTrouble(why);
    }
  });
}

function withoutAnswer({ status, headers }: Response, text: string, meaning: FailureMeaning): null {
  if (meaning === "absent") return null;
  const sentence = `answered ${status}`;
  if (meaning === "refused") throw new ApiRefusal(sentence, status, text);
  throw new ApiTrouble(sentence, retryAfter(headers), status !== 429);
}

/** RFC 9110. */
function meaningOfStatus(status: number): FailureMeaning {
  if (status === 404 || status === 410) return "absent";
  return status >= 500 || status === 408 || status === 429 ? "trouble" : "refused";
}

async function readBody(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Counted as it comes, after decompression: the length header may lie.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new ApiTrouble(`an answer of more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Retry-After is seconds or a date (RFC 9110, 10.2.3); the App Store sends ms since 1970. */
function retryAfter(headers: Headers): number | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const number = /^\d+$/.test(text) ? Number(text) : null;
  const isSeconds = number !== null && number < retryAfterSecondsMax;
  const ms = isSeconds ? number * 1000 : (number ?? Date.parse(text)) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

/** A larger number is ms since 1970: as seconds it would be 31,000 years. */
const retryAfterSecondsMax = 1_000_000_000_000;

/** The cause says why; `fetch failed` says nothing. */
function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
