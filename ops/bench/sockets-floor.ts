/** A bare server of `ws` that sends what it is given, to compare the service's sockets with. */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { report } from "./processes.js";
import { portMessage } from "./webhooks-floor.js";

/** Messages of a round, and how many of them are sent at a time, as the service books them. */
export const round = { messages: 2_000, perTurn: 20, turnMs: 20 } as const;

/** What is sent in a round, to one path after the other; answered when all is sent. */
export const textsToSend = z.array(z.string()).min(1);
/** Of the process so far. */
export const processorSecondsAnswer = z.object({ seconds: z.number() });

/** Runs as a child: sockets come to `/0`, `/1` …; a POST of texts sends a round of them. */
export async function run(): Promise<void> {
  const places = new Map<string, WebSocket[]>();
  const http = createServer((request, response) => {
    void (async () => {
      if (request.method === "POST") {
        await sendRound(textsToSend.parse(JSON.parse(await text(request))), places);
      }
      const { user, system } = process.cpuUsage();
      response.end(JSON.stringify({ seconds: (user + system) / 1e6 }));
    })();
  });
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  server.on("connection", (socket, { url = "" }) => {
    places.set(url, [...(places.get(url) ?? []), socket]);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  report({ port: portMessage.parse(http.address()).port });
  process.once("disconnect", () => process.exit(0));
}

async function sendRound(
  texts: readonly string[],
  places: ReadonlyMap<string, readonly WebSocket[]>,
): Promise<void> {
  for (let from = 0; from < round.messages; from += round.perTurn) {
    for (let index = from; index < from + round.perTurn; index += 1) {
      const place = index % texts.length;
      for (const socket of places.get(`/${place}`) ?? []) socket.send(texts[place] ?? "");
    }
    await pause(round.turnMs);
  }
}
