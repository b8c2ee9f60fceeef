/** Twelve connections of one key that ask the same again and again, until this process is ended. */
import { type IncomingMessage, Agent, get } from "node:http";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { report } from "./processes.js";

const connections = 12;
const refusedPauseMs = 100;

/** Runs as a child: reports that it has begun when each connection has had an answer. */
export async function run([base = "", authorization = "", path = ""]: readonly string[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const ask = async (): Promise<void> => {
    const request = get(new URL(path, base), { agent, headers: { authorization } });
    const [answer]: IncomingMessage[] = await once(request, "response");
    if (answer === undefined) return;
    answer.resume();
    await once(answer, "end");
    if (answer.statusCode !== 200) await pause(refusedPauseMs);
  };
  report({ begun: true });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (;;) await ask();
    }),
  );
}
