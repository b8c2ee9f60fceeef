/** HTTP servers of tests: on this machine only, each at a port of its own. */
import { once } from "node:events";
import { type RequestListener, type Server, createServer } from "node:http";
import type { Server as SecureServer } from "node:https";
import { testReleases } from "./stores.js";

/** Stands in for somebody else's, until the tests end. @returns its URL */
export async function serveHttp(name: string, answer: RequestListener): Promise<string> {
  const { url, close } = await listen(createServer(answer));
  testReleases.push(name, close);
  return url;
}

/** @returns its URL as of HTTP, also of a server of HTTPS */
export async function listen(
  server: Server | SecureServer,
): Promise<{ readonly url: string; close(this: void): Promise<void> }> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not on a port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
