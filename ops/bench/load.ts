/**
 * Two ways to send: at an even pace independent of the answers, and as fast as the answers arrive.
 */
import assert from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { HttpConnection } from "./http-connection.js";

/** Calls `send` `count` times, evenly (an open loop): a slow server does not slow the senders. */
export async function sendEvenly(
  perSecond: number,
  count: number,
  send: () => void,
): Promise<void> {
  const startedAt = performance.now();
  for (let sent = 0; sent < count;) {
    const due = Math.min(count, Math.ceil(((performance.now() - startedAt) * perSecond) / 1_000));
    for (; sent < due; sent += 1) send();
    await pause(1);
  }
}

/**
 * Each connection sends its next request when the answer to its last is there (a closed loop);
 * the requests begin again when they are used up.
 *
 * @returns answers a second; every one was a 200
 */
export async function sendClosedLoop(
  base: URL,
  requests: readonly Buffer[],
  seconds: number,
  connections = 64,
): Promise<number> {
  const open = await Promise.all(
    Array.from({ length: connections }, () => HttpConnection.open(base)),
  );
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  let next = 0;
  let answers = 0;
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() < endsAt) {
        const request = requests[next++ % requests.length];
        assert(request !== undefined, "there is something to send");
        const { status, body } = await connection.send(request);
        if (status !== 200) throw new Error(`refused with ${status}: ${body.toString()}`);
        answers += 1;
      }
      connection.close();
    }),
  );
  return (answers * 1_000) / (performance.now() - startedAt);
}
