/** A real HTTP server on this machine in the place of a chat program's incoming webhook. */
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveHttp } from "../harness/loopback.js";

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
  const base = await serveHttp("chat server", (request, response) => {
    void text(request).then((body) => take(body, response));
  });
  const server: ChatServer = {
    url: `${base}/services/secret`,
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
