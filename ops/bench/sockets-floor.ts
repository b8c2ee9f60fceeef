/** A bare server of `ws` that sends what it is given, to compare the service's sockets with. */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { portMessage, report } from "./processes.js";

/** Of a round. */
export const messages = 2_000;
/** Sent at a time, as the service sends what was booked together. */
const perTurn = 20;
const turnMs = 20;

/** Calls `send` with the numbers of the messages of a round, some at a time. */
export async function inTurns(
  send: (numbers: readonly number[]) => Promise<void> | void,
): Promise<void> {
  for (let from = 0; from < messages; from += perTurn) {
    await send(Array.from({ length: perTurn }, (_, index) => from + index));
    await pause(turnMs);
  }
}

/** What is sent in a round, to one path after the other; answered when all is sent. */
const textsToSend = z.array(z.string()).min(1);
/** Of the process so far. */
export const processorSecondsAnswer = z.object({ seconds: z.number() });

/** Runs as a child: sockets come to `/0`, `/1` …; a POST of texts sends a round of them. */
export async function run(): Promise<void> {
  const places = new Map<string, WebSocket[]>();
  const http = createServer((request, response) => {
    void (async () => {
      if (request.method === "POST") {
        const texts = textsToSend.parse(JSON.parse(await text(request)));
        await inTurns((numbers) => {
          for (const number of numbers) {
            const place = number % texts.length;
            for (const socket of places.get(`/${place}`) ?? []) socket.send(texts[place] ?? "");
          }
        });
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
