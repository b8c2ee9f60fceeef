/** Servers of tests: on this machine only, each at a port of its own. */
import { once } from "node:events";
import { type RequestListener, createServer } from "node:http";
import type { Server, Socket } from "node:net";
import { testReleases } from "./stores.js";

/** Stands in for somebody else's, until the tests end. @returns its URL */
export async function serveHttp(name: string, answer: RequestListener): Promise<string> {
  const { url, close } = await listen(createServer(answer));
  testReleases.push(name, close);
  return url;
}

export interface Listening {
  readonly port: number;
  /** As of HTTP, whatever it speaks. */
  readonly url: string;
  /** With all its connections. */
  close(this: void): Promise<void>;
}

export async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not on a port");
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
