/**
 * Answers for screens. An answer is kept and shown again at once while it is asked for anew; while
 * another range loads, the one before stays, marked as stale, so that nothing jumps.
 */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { loadSession } from "../state/session.js";
import { useView } from "../state/view.js";
import type { Answers } from "./answers.js";
import { CallError, type Params, call, urlOf } from "./client.js";

export interface Loaded<Answer> {
  /** Null until the first answer came. */
  readonly answer: Answer | null;
  readonly error: CallError | null;
  /** The answer shown belongs to another question. */
  readonly isStale: boolean;
}

/** Grows when figures may have changed; every answer on the screen is then asked for anew. */
const epoch = signal(0);

export function refreshAnswers(): void {
  epoch.value += 1;
}

/** Grows when something was changed by hand: what is shown is asked for at once. */
const changes = signal(0);

export function reloadAnswers(): void {
  kept.clear();
  changes.value += 1;
}

const pollMs = 2_000;

/** For what goes on without the reader: what is shown is asked for again and again meanwhile. */
export function useReloadWhile(isGoingOn: boolean): void {
  useEffect(() => {
    if (!isGoingOn) return undefined;
    const timer = setInterval(reloadAnswers, pollMs);
    return () => clearInterval(timer);
  }, [isGoingOn]);
}

/** How many answers are awaited of which nothing is shown yet. */
export const awaited = signal(0);

/** The newest moment any answer was complete to. */
export const completeTo = signal<string | null>(null);

const keptMax = 100;
const retryMs = 5_000;
/** A question is asked anew after so many times what its answer took. */
const restFactor = 10;
const kept = new Map<string, unknown>();

/** @param path null: nothing to ask yet. Workspace, environment and clocks are added. */
export function useAnswer<Path extends keyof Answers>(
  path: Path | null,
  params: Params = {},
): Loaded<Answers[Path]> {
  const view = useView();
  const url =
    path === null || view.workspace === null
      ? null
      : urlOf(path, { ...view.tenant, ...view.clocks, ...params });
  return useUrl<Answers[Path]>(url);
}

/**
 * @param url with its query; null: nothing to ask yet
 * @param follows false: new transactions do not change it, and it costs others to answer
 */
export function useUrl<Answer>(url: string | null, follows = true): Loaded<Answer> {
  const [drawn, redraw] = useState(0);
  const shown = useRef<{ url: string; answer: Answer } | null>(null);
  const failed = useRef<{ url: string; error: CallError } | null>(null);
  const wanted = epoch.value;

  const flight = useRef<AbortController | null>(null);
  const retry = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** ms since 1970: what took long is not asked for again at once. */
  const restsUntil = useRef(0);
  /** The epoch when it was asked: what came later is not in the answer. */
  const askedIn = useRef(wanted);

  const load = async (asked: string): Promise<void> => {
    const aborter = new AbortController();
    flight.current = aborter;
    askedIn.current = epoch.peek();
    const startedAt = Date.now();
    const isFirst = !kept.has(asked);
    if (isFirst) awaited.value = awaited.peek() + 1;
    try {
      const answer = await answerTo<Answer>(asked, aborter.signal);
      if (aborter.signal.aborted) return;
      keep(asked, answer);
      shown.current = { url: asked, answer };
      failed.current = null;
    } catch (thrown) {
      if (aborter.signal.aborted) return;
      const error = CallError.of(thrown);
      failed.current = { url: asked, error };
      if (error.status === 401) void loadSession();
      if (error.status === 0 || error.status === 503) {
        retry.current = setTimeout(() => void load(asked), retryMs);
      }
    } finally {
      if (isFirst) awaited.value = awaited.peek() - 1;
    }
    flight.current = null;
    restsUntil.current = Date.now() + restFactor * (Date.now() - startedAt);
    redraw((count) => count + 1);
  };

  // Before the page is painted, which takes longer than sending the call.
  useLayoutEffect(() => {
    if (url === null) return undefined;
    void load(url);
    return () => {
      flight.current?.abort();
      flight.current = null;
      clearTimeout(retry.current);
    };
  }, [url]);
  // Asked anew only when nothing is on its way: under load nothing would ever arrive.
  useEffect(() => {
    if (url === null || flight.current !== null || askedIn.current === wanted) return undefined;
    if (!follows) return undefined;
    const timer = setTimeout(() => void load(url), restsUntil.current - Date.now());
    return () => clearTimeout(timer);
  }, [wanted, url, drawn]);
  const changed = changes.value;
  const seenChange = useRef(changed);
  useEffect(() => {
    if (url === null || seenChange.current === changed) return;
    seenChange.current = changed;
    // An answer that is on its way may be older than the change.
    flight.current?.abort();
    void load(url);
  }, [changed]);

  const known = url === null ? undefined : kept.get(url);
  const error = failed.current?.url === url ? failed.current.error : null;
  if (url === null) return { answer: null, error: null, isStale: false };
  if (isAnswer(known, shown.current?.answer)) return { answer: known, error, isStale: false };
  return { answer: shown.current?.answer ?? null, error, isStale: shown.current !== null };
}

interface Flight {
  readonly answer: Promise<unknown>;
  readonly aborter: AbortController;
  waiting: number;
}

/** Calls on their way: what several parts of a screen ask for is asked once. */
const flights = new Map<string, Flight>();

/** @param left of one who waits: the call is ended when nobody does any more */
async function answerTo<Answer>(url: string, left: AbortSignal): Promise<Answer> {
  // Not one that was sent before a change: its answer may be older.
  const key = `${epoch.peek()} ${changes.peek()} ${url}`;
  const flight = flights.get(key) ?? depart(key, url);
  flight.waiting += 1;
  left.addEventListener("abort", () => {
    flight.waiting -= 1;
    if (flight.waiting > 0) return;
    if (flights.get(key) === flight) flights.delete(key);
    flight.aborter.abort();
  });
  const answer = await flight.answer;
  if (!isAnswer<Answer>(answer, undefined)) throw new Error("an answer is never undefined");
  return answer;
}

function depart(key: string, url: string): Flight {
  const aborter = new AbortController();
  const answer = call<unknown>("GET", url, { signal: aborter.signal });
  const flight = { answer, aborter, waiting: 0 };
  flights.set(key, flight);
  const landed = () => {
    if (flights.get(key) === flight) flights.delete(key);
  };
  answer.then(landed, landed);
  return flight;
}

function keep(url: string, answer: unknown): void {
  kept.delete(url);
  kept.set(url, answer);
  const [oldest] = kept.keys();
  if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
  if (typeof answer !== "object" || answer === null || !("complete_to" in answer)) return;
  const { complete_to: moment } = answer;
  if (typeof moment === "string" && moment > (completeTo.peek() ?? "")) completeTo.value = moment;
}

/** What is kept under a URL is what a call to it answered. */
function isAnswer<Answer>(known: unknown, _like: Answer | undefined): known is Answer {
  return known !== undefined;
}

/** After a change of the workspace shown, or of its data by hand. */
export function forgetAnswers(): void {
  kept.clear();
  completeTo.value = null;
  refreshAnswers();
}
