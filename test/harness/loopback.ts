/** HTTP servers that stand in for others: on this machine only, until the tests end. */
import { createServer, type RequestListener } from "node:http";
import { testReleases } from "./stores.js";

/** @returns its URL, at a port of its own */
export async function serveHttp(name: string, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve());
  });
  testReleases.push(name, async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  return `http://127.0.0.1:${address.port}`;
}
