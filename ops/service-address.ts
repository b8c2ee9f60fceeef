/** Where a service that was started as a child answers, by what it says on standard error. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Characters of its first words that are kept. */
const saidMax = 20_000;

/**
 * @param refused makes an error of its words
 * @throws that, when the process ends instead of listening
 */
export async function addressOf(
  { stderr }: ChildProcess,
  closed: Promise<unknown>,
  refused: (said: string) => Error,
): Promise<string> {
  if (stderr === null) throw new Error("it says nothing that could be read");
  let said = "";
  stderr.on("data", (chunk: Buffer) => {
    if (said.length < saidMax) said += chunk.toString();
  });
  const isOver = closed.then(() => true);
  for (;;) {
    const url = /Running at (http:\S+?),?\s/.exec(said)?.[1];
    if (url !== undefined) return url;
    const hasEnded = await Promise.race([isOver, once(stderr, "data").then(() => false)]);
    if (hasEnded) throw refused(said.trim());
  }
}
