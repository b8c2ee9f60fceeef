/**
 * Sends events as providers do: to either endpoint, again until they are acknowledged, and now and
 * then again though they were.
 */
import { setTimeout as pause } from "node:timers/promises";
import { must, text } from "../model/readers/json.js";
import { deliver, type Merchant } from "../model/merchant.js";
import type { Sent } from "../model/stories/story.js";
import type { Workspace } from "./workspaces.js";

/** Reported side by side, so that batches hold events of several. */
const workspacesAtOnce = 5;
const callsAtOnceMax = 64;
const callMsMax = 15_000;
const backOffMs = { first: 100, last: 5_000 };
/** One of so many acknowledged events is sent once more. */
const repeatEvery = 12;
const batchLines = 500;

/** An answer no sender should get, whatever happens to the servers. */
export class Unexpected extends Error {
  override readonly name = "Unexpected";
}

export class Load {
  calls = 0;
  acknowledged = 0;
  repeated = 0;
  /** By what was met: a status, or that there was no answer. */
  readonly retries = new Map<string, number>();
  readonly unexpected: Unexpected[] = [];
  readonly #open = new Set<Promise<void>>();
  #turn = 0;

  /** @param endpoints `http://127.0.0.1:<port>` of every ingest process */
  constructor(private readonly endpoints: readonly string[]) {}

  /**
   * Sends as it was drawn until `signal` aborts. Workspaces that were begun are sent
   * to their end, as fast as it goes: the model has proven itself on whole histories.
   */
  async run(
    workspaces: readonly Workspace[],
    perSecond: number,
    signal: AbortSignal,
  ): Promise<void> {
    const startedAt = Date.now();
    let begun = 0;
    for (const [workspace, sent] of interleaved(workspaces, () => signal.aborted)) {
      begun += 1;
      const dueMs = startedAt + (begun * 1000) / perSecond - Date.now();
      if (dueMs > 0 && !signal.aborted) await pause(dueMs);
      while (this.#open.size >= callsAtOnceMax) await Promise.race(this.#open);
      this.#begin(() => this.#report(workspace, sent));
    }
  }

  /** All events of a workspace at once, in batches. */
  fill(workspace: Workspace): void {
    for (let from = 0; from < workspace.events.length; from += batchLines) {
      const lines = workspace.events.slice(from, from + batchLines);
      this.#begin(() => this.#sendBatch(workspace, lines));
    }
  }

  /** Resolves when everything begun is acknowledged. */
  async finish(msMax: number): Promise<void> {
    const late = AbortSignal.timeout(msMax);
    while (this.#open.size > 0) {
      if (late.aborted) throw new Error(`${this.#open.size} calls are still not acknowledged`);
      await Promise.race([...this.#open, pause(1_000)]);
    }
  }

  #begin(work: () => Promise<void>): void {
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        if (!(error instanceof Unexpected)) throw error;
        this.unexpected.push(error);
      })
      .finally(() => this.#open.delete(running));
    this.#open.add(running);
  }

  async #report(workspace: Workspace, sent: Sent): Promise<void> {
    const once = () =>
      this.#untilTaken(workspace, async (merchant, signal) => {
        const answer = await deliver(merchant, sent, signal);
        return { answer, body: await answer.text() };
      });
    const { status, body } = await once();
    this.#note(workspace, sent, status, body);
    if (this.acknowledged % repeatEvery !== 0) return;
    this.repeated += 1;
    const again = await once();
    if (eventIdIn(again.body) !== eventIdIn(body)) {
      throw new Unexpected(`one event, two answers: ${body} ${again.body}`);
    }
  }

  async #sendBatch(workspace: Workspace, lines: readonly Sent[]): Promise<void> {
    const { body } = await this.#untilTaken(workspace, async ({ endpoint, key }, signal) => {
      const answer = await fetch(`${endpoint.base}/v1/events/ingest`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${key}` },
        body: lines.map((line) => `${JSON.stringify(line.body)}\n`).join(""),
        signal,
      });
      return { answer, body: await answer.text() };
    });
    for (const [index, line] of body.trimEnd().split("\n").entries()) {
      const sent = must(lines[index] ?? null, "an event for each answer");
      const status = eventIdIn(line) === null ? 422 : 202;
      this.#note(workspace, sent, status, line);
    }
  }

  /** To one endpoint and the other, with growing pauses. */
  async #untilTaken(
    { merchant }: Workspace,
    call: (merchant: Merchant, signal: AbortSignal) => Promise<{ answer: Response; body: string }>,
  ): Promise<{ readonly status: number; readonly body: string }> {
    const first = (this.#turn += 1);
    for (let tries = 0; ; tries += 1) {
      const base = this.endpoints[(first + tries) % this.endpoints.length] ?? "";
      const there = { ...merchant, endpoint: { ...merchant.endpoint, base } };
      this.calls += 1;
      const reported = await call(there, AbortSignal.timeout(callMsMax)).catch(noAnswer);
      if (typeof reported === "string") this.#retry(reported);
      else if (isToRepeat(reported.answer.status, reported.body))
        this.#retry(`${reported.answer.status}`);
      else return { status: reported.answer.status, body: reported.body };
      await pause(Math.min(backOffMs.first * 2 ** tries, backOffMs.last));
    }
  }

  #retry(why: string): void {
    this.retries.set(why, (this.retries.get(why) ?? 0) + 1);
  }

  #note(workspace: Workspace, sent: Sent, status: number, body: string): void {
    const id = eventIdIn(body);
    if (id !== null && (status === 200 || status === 202)) {
      workspace.acknowledged.set(id, sent);
      this.acknowledged += 1;
      return;
    }
    // A record in a currency without a rate is refused; a webhook is taken and parked.
    const isRefused = sent.source === "record" && status === 422;
    if (isRefused && codeIn(body) === "fx_rate_missing") return;
    throw new Unexpected(`${workspace.name}, ${sent.source} ${sent.id}: ${status} ${body}`);
  }
}

/** @returns what kept the answer away, for the count */
function noAnswer(error: unknown): string {
  const isOurs = error instanceof TypeError || error instanceof DOMException;
  if (!isOurs) throw error;
  return error instanceof DOMException ? "no answer in time" : "no connection";
}

/** As providers do; a call that waited behind a stopped process may carry an old signature. */
function isToRepeat(status: number, body: string): boolean {
  return (
    status >= 500 ||
    status === 429 ||
    status === 408 ||
    (status === 401 && codeIn(body) === "signature_stale")
  );
}

function eventIdIn(body: string): string | null {
  return text(parsed(body), "event_id");
}

function codeIn(body: string): string | null {
  return text(parsed(body), "error", "code");
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Some workspaces at a time, one event of each in turn; no further one when it is over. */
function* interleaved(
  workspaces: readonly Workspace[],
  isOver: () => boolean,
): Generator<[Workspace, Sent]> {
  const waiting = workspaces.map((workspace) => ({ workspace, events: [...workspace.events] }));
  const open = waiting.splice(0, workspacesAtOnce);
  while (open.length > 0) {
    for (const [index, { workspace, events }] of [...open.entries()].toReversed()) {
      const sent = events.shift();
      if (sent !== undefined) yield [workspace, sent];
      else open.splice(index, 1, ...waiting.splice(0, isOver() ? 0 : 1));
    }
  }
}
