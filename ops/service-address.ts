/** Where a service that was started as a child answers, by what the child prints. */
import { once } from "node:events";
import type { Readable } from "node:stream";

/** Characters of its first words that are kept. */
const saidMax = 20_000;
/** What the service prints on standard error. */
export const running = /Running at (http:\S+?),?\s/;

/**
 * @param address finds the URL in what was printed
 * @param refused makes an error of what was printed
 * @throws that, when the process ends instead of listening
 */
export async function addressOf(
  printed: Readable | null,
  address: RegExp,
  closed: Promise<unknown>,
  refused: (said: string) => Error,
): Promise<string> {
  if (printed === null) throw new Error("it says nothing that could be read");
  let said = "";
  printed.on("data", (chunk: Buffer) => {
    if (said.length < saidMax) said += chunk.toString();
  });
  const isOver = closed.then(() => true);
  for (;;) {
    const url = address.exec(said)?.[1];
    if (url !== undefined) return url;
    const hasEnded = await Promise.race([isOver, once(printed, "data").then(() => false)]);
    if (hasEnded) throw refused(said.trim());
  }
}
