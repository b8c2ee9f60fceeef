/** Sends lines to the ingest endpoint as one batch, again while it is not to be had. */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { parseJsonText } from "../../schemas/parse.js";
import { ImportRefused } from "./refused.js";

export interface Target {
  /** Where the service answers, without a slash at the end. */
  readonly url: string;
  readonly key: string;
}

export interface SendLine {
  /** Of the file. */
  readonly line: number;
  readonly json: string;
}

export type Outcome =
  | { readonly kind: "taken" | "repeated"; readonly line: number }
  | {
      readonly kind: "refused";
      readonly line: number;
      readonly code: string;
      readonly message: string;
    };

const attemptsMax = 6;
const pauseMs = 500;
const pauseMsMax = 60_000;
const answerMsMax = 120_000;
/** Of a refusal; another server's page may have any length. */
const shownLengthMax = 1_000;

/**
 * Lines that wait for a rate, whose list the service fetches meanwhile, are sent again as long as
 * that takes in any.
 * @throws ImportRefused when the batch as a whole is refused, or cannot be sent
 */
export async function sendBatch(target: Target, lines: readonly SendLine[]): Promise<Outcome[]> {
  const outcomes = new Map<number, Outcome>();
  for (let waiting = lines; waiting.length > 0;) {
    for (const outcome of await sendLines(target, waiting)) outcomes.set(outcome.line, outcome);
    const left = waiting.filter(({ line }) => waitsForRate(outcomes.get(line)));
    if (left.length === waiting.length) break;
    waiting = left;
  }
  return [...outcomes.values()];
}

function waitsForRate(outcome: Outcome | undefined): boolean {
  return outcome?.kind === "refused" && outcome.code === "fx_rate_missing";
}

async function sendLines(target: Target, lines: readonly SendLine[]): Promise<Outcome[]> {
  const body = lines.map(({ json }) => `${json}\n`).join("");
  for (let attempt = 1; ; attempt += 1) {
    const answer = await post(target, body);
    const outcomes = answer.status === 200 ? outcomesOf(lines, answer.text) : null;
    if (outcomes !== null) return outcomes;
    const mayPass = answer.status === null || answer.status === 429 || answer.status >= 500;
    if (!mayPass || attempt === attemptsMax) {
      const status = answer.status ?? "nothing";
      throw new ImportRefused(`${target.url} answered ${status}: ${refusalIn(answer.text)}`);
    }
    await pause(Math.min(answer.retryAfterMs ?? pauseMs * 2 ** attempt, pauseMsMax));
  }
}

interface Answer {
  /** Null: there was none. */
  readonly status: number | null;
  readonly text: string;
  readonly retryAfterMs?: number;
}

async function post({ url, key }: Target, body: string): Promise<Answer> {
  try {
    const response = await fetch(`${url}/v1/events/ingest`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/x-ndjson" },
      body,
      signal: AbortSignal.timeout(answerMsMax),
    });
    const text = await response.text();
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    const retry = Number.isNaN(seconds) ? {} : { retryAfterMs: seconds * 1000 };
    return { status: response.status, text, ...retry };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return {
      status: null,
      text: error.cause instanceof Error ? error.cause.message : error.message,
    };
  }
}

const refusal = z.object({
  status: z.literal("error"),
  error: z.object({ code: z.string(), message: z.string() }),
});
const lineAnswer = z.union([
  z.object({ status: z.literal("success"), idempotent_replayed: z.boolean().optional() }),
  refusal,
]);

/** In the service's words; of something else that answers there, what it says. */
function refusalIn(text: string): string {
  const json = parseJsonText(text);
  const answer = refusal.safeParse(json.ok ? json.value : null);
  return answer.success ? worded(answer.data.error) : text.slice(0, shownLengthMax);
}

function worded({ code, message }: z.output<typeof refusal>["error"]): string {
  return `${message} (${code})`;
}

/** One answer a line, in order; null: something else answers there, or not all of it came. */
function outcomesOf(lines: readonly SendLine[], text: string): Outcome[] | null {
  const answers = text.trimEnd().split("\n");
  if (answers.length !== lines.length) return null;
  const outcomes = lines.map(({ line }, index) => outcomeOf(line, answers[index] ?? ""));
  return outcomes.every((outcome) => outcome !== null) ? outcomes : null;
}

function outcomeOf(line: number, text: string): Outcome | null {
  const json = parseJsonText(text);
  const answer = lineAnswer.safeParse(json.ok ? json.value : null);
  if (!answer.success) return null;
  if (answer.data.status === "error") {
    const { error } = answer.data;
    return { kind: "refused", line, code: error.code, message: worded(error) };
  }
  return { kind: answer.data.idempotent_replayed === true ? "repeated" : "taken", line };
}
