/** A real HTTP server on this machine in the place of a chat program's incoming webhook. */
import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import { text } from "node:stream/consumers";
import { testReleases } from "../harness/stores.js";

interface ChatMessage {
  readonly text: string;
  /** Of all blocks, as a person reads it. */
  readonly whole: string;
}

export interface ChatServer {
  readonly url: string;
  /** Those it answered with 200. */
  readonly messages: ChatMessage[];
  /** While it is set, messages are answered with this status, or their calls cut off. */
  refusal: number | "hang up" | null;
  /** While it is true, messages are answered by nobody: their calls wait here. */
  isSlow: boolean;
  readonly held: (() => void)[];
}

export async function openChatServer(): Promise<ChatServer> {
  const http = createServer((request, response) => {
    void text(request).then((body) => take(body, response));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  testReleases.push("chat server", async () => {
    http.closeAllConnections();
    http.close();
  });
  const address = http.address();
  if (address === null || typeof address === "string") throw new Error("not on a port");
  const server: ChatServer = {
    url: `http://127.0.0.1:${address.port}/services/secret`,
    messages: [],
    refusal: null,
    isSlow: false,
    held: [],
  };
  return server;

  function take(body: string, response: ServerResponse): void {
    if (server.refusal === "hang up") {
      response.destroy();
      return;
    }
    if (server.refusal !== null) {
      response.writeHead(server.refusal).end();
      return;
    }
    const answer = (): void => {
      server.messages.push(readable(body));
      response.end("ok");
    };
    if (server.isSlow) server.held.push(answer);
    else answer();
  }
}

function readable(body: string): ChatMessage {
  const { text: line, blocks } = JSON.parse(body);
  const parts: string[] = blocks.map((block: { text: { text: string } }) => block.text.text);
  const whole = parts
    .join("\n")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
  return { text: line, whole };
}
