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
  const answers = new Map<number, number>();
  let bytes = 0;
  const ask = async (): Promise<void> => {
    const request = get(new URL(path, base), { agent, headers: { authorization } });
    const [answer]: IncomingMessage[] = await once(request, "response");
    if (answer === undefined) return;
    answer.on("data", (chunk: Buffer) => (bytes += chunk.length));
    await once(answer, "end");
    const { statusCode: status = 0 } = answer;
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status !== 200) await pause(refusedPauseMs);
  };
  const startedAt = performance.now();
  process.on("exit", () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const counted = [...answers].map(([status, count]) => `${count} × ${status}`).join(", ");
    const megabytes = Math.round(bytes / 1_000_000);
    console.log(`    ${counted}, ${megabytes} MB within ${Math.round(seconds)} s`);
  });
  report({ begun: true });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (;;) await ask();
    }),
  );
}
