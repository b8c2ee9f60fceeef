/** Calls as fast as the answers arrive; traffic.ts sends at a pace of its own. */
import assert from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { type Call, HttpClient } from "./http-client.js";
import { report } from "./processes.js";

/** Who is refused comes again after that. */
const refusedPauseMs = 100;

/**
 * A closed loop: each sender makes its next call after the answer to its previous one. When all
 * calls were made, they are made again from the first.
 *
 * @param options.seconds may be infinite: until this process is ended
 * @returns answers with 200 a second
 */
export async function sendClosedLoop(
  base: URL,
  calls: readonly Call[],
  { seconds, senders }: { readonly seconds: number; readonly senders: number },
): Promise<number> {
  const client = new HttpClient(base);
  const startedAt = performance.now();
  let [next, answers] = [0, 0];
  const send = async (): Promise<void> => {
    while (performance.now() < startedAt + seconds * 1_000) {
      const call = calls[next++ % calls.length];
      assert(call !== undefined, "there is something to send");
      const { status } = await client.send(call);
      if (status === 200) answers += 1;
      else await pause(refusedPauseMs);
    }
  };
  await Promise.all(Array.from({ length: senders }, send));
  client.close();
  return (answers * 1_000) / (performance.now() - startedAt);
}

const readers = 12;

/** Runs as a child: senders of one key that ask the same again and again, until it is ended. */
export async function run([base = "", authorization = "", path = ""]: readonly string[]) {
  report({ begun: true });
  const calls = [{ path, headers: { authorization } }];
  await sendClosedLoop(new URL(base), calls, { seconds: Infinity, senders: readers });
}
