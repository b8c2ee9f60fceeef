/**
 * The stream of transactions. One socket for the page, whatever shows it. It resumes by the cursor
 * of its last message after sleep and outages; messages are passed on once a frame.
 */
import { signal } from "@preact/signals";
import type { StreamMessage } from "../../schemas/http/transactions.js";
import type { Params } from "./client.js";
import { urlOf } from "./client.js";

export type LiveState = "off" | "connecting" | "live" | "waiting" | "refused";

export const liveState = signal<LiveState>("off");
/** Newest first, one row for each transaction: its newest version. */
export const liveRows = signal<readonly StreamMessage[]>([]);
interface Second {
  readonly all: number;
  /** Of them, those the service left out, because nobody could read as many. */
  readonly skipped: number;
}

/** How many there were in each of the last seconds, oldest first. */
export const liveSeconds = signal<readonly Second[]>(
  Array.from({ length: 60 }, () => ({ all: 0, skipped: 0 })),
);
/** Messages were missed that the service could not send again. */
export const liveGap = signal(false);

const rowsMax = 500;
/** Messages a second that are sent here; of the others their number. */
const sample = "50";
const backoffMsMax = 30_000;

/** @param tenant workspace and environment. @returns ends it */
export function openLive(tenant: Params, onBatch: () => void): () => void {
  let socket: WebSocket | null = null;
  let cursor: string | null = null;
  let attempts = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let frame = 0;
  let waiting: StreamMessage[] = [];
  let all = 0;
  let skipped = 0;
  let isEnded = false;

  const ticking = setInterval(() => {
    liveSeconds.value = [...liveSeconds.peek().slice(1), { all, skipped }];
    all = 0;
    skipped = 0;
  }, 1_000);

  const draw = (): void => {
    frame = 0;
    const batch = waiting;
    waiting = [];
    liveRows.value = merged(batch, liveRows.peek());
    onBatch();
  };

  const connect = (): void => {
    clearTimeout(timer);
    liveState.value = attempts === 0 ? "connecting" : "waiting";
    const opened = new WebSocket(urlOf("/v1/events/stream", { ...tenant, sample, after: cursor }));
    socket = opened;
    opened.addEventListener("open", () => {
      attempts = 0;
      liveState.value = "live";
    });
    opened.addEventListener("message", ({ data }) => {
      const message: StreamMessage = JSON.parse(String(data));
      cursor = message.cursor;
      waiting.push(message);
      const { skipped: before = 0 } = message;
      all += 1 + before;
      skipped += before;
      // A page that is not seen gets no frames.
      if (document.hidden && waiting.length > rowsMax) waiting = waiting.slice(-rowsMax);
      frame ||= requestAnimationFrame(draw);
    });
    opened.addEventListener("close", ({ code }) => {
      if (isEnded || socket !== opened) return;
      if (code === 1008) {
        liveState.value = "refused";
        return;
      }
      if (code === 4410) {
        cursor = null;
        liveGap.value = true;
      }
      attempts += 1;
      liveState.value = "waiting";
      timer = setTimeout(connect, Math.min(backoffMsMax, 500 * 2 ** attempts));
    });
  };

  const wake = (): void => {
    if (document.hidden || liveState.peek() !== "waiting") return;
    attempts = 0;
    connect();
  };
  addEventListener("online", wake);
  document.addEventListener("visibilitychange", wake);
  connect();

  return () => {
    isEnded = true;
    clearTimeout(timer);
    clearInterval(ticking);
    cancelAnimationFrame(frame);
    removeEventListener("online", wake);
    document.removeEventListener("visibilitychange", wake);
    socket?.close();
    liveState.value = "off";
    liveRows.value = [];
    liveGap.value = false;
  };
}

/** @param batch oldest first */
function merged(
  batch: readonly StreamMessage[],
  rows: readonly StreamMessage[],
): readonly StreamMessage[] {
  const newest = new Map(batch.toReversed().map((row) => [row.id, row]));
  for (const row of batch) newest.set(row.id, row);
  const rest = rows.filter((row) => !newest.has(row.id));
  return [...newest.values(), ...rest].slice(0, rowsMax);
}
