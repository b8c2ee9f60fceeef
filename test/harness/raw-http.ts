/** HTTP as no client would send it. */
import { once } from "node:events";
import { connect } from "node:net";

/** Writes bytes to the port and reads until the other side closes. @param base of the service */
export async function sendRaw(base: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(base).port), "localhost");
  let answer = "";
  socket.on("data", (chunk) => (answer += chunk.toString()));
  socket.on("error", () => undefined);
  socket.write(text);
  await once(socket, "close");
  return answer;
}
