/** Twelve senders of one key that ask the same again and again, until this process is ended. */
import { sendClosedLoop } from "./load.js";
import { report } from "./processes.js";

const senders = 12;

/** Runs as a child. */
export async function run([base = "", authorization = "", path = ""]: readonly string[]) {
  report({ begun: true });
  const calls = [{ path, headers: { authorization } }];
  await sendClosedLoop(new URL(base), calls, { seconds: Infinity, senders });
}
