/**
 * `GET /v1/events/stream`: the live stream (`spec.md` 4.6, `definitions.md`, Stream). Access is
 * decided while the call is still HTTP, so a refusal is an HTTP answer in the envelope.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { z } from "zod";
import type { CatalogueView } from "../../workspaces/catalogue/view.js";
import { knownError, addressOf, requestIdOf } from "../../http/app.js";
import { authorizeSocket, requireKey } from "../../http/auth.js";
import { ApiError, malformed } from "../../schemas/http/errors.js";
import { readQuery } from "../../http/query.js";
import { refuseRaw } from "../../http/server.js";
import type { Access } from "../../workspaces/keys.js";
import type { Service } from "../../service.js";
import { streamMessage } from "../../schemas/http/transactions.js";
import { streamQueryParameters } from "./schema.js";
import type { ReadApi } from "../reading/routes.js";
import type { Route } from "../route.js";
import type { Cursors } from "../reading/cursors.js";
import { passingOf } from "../../workspaces/webhooks/wanted.js";
import { segmentOfEvents } from "../segments/resolve.js";
import { Hub, streamScope } from "./hub.js";
import { OpenSockets } from "./open-sockets.js";
import { Subscriber, streamPath } from "./subscriber.js";

/** Of the calls that do not ask to upgrade; the others are taken before any route. */
export const streamRoute: Route<ReadApi> = {
  method: "get",
  path: streamPath,
  tag: "Stream",
  summary: "Live transactions (WebSocket)",
  description:
    "Each message is the JSON text of a StreamMessage: a new version of a transaction. The " +
    "header `X-Cursor` of the handshake's answer is the cursor before the first message. The " +
    "server pings every 15 seconds. Close codes: 1001 the service stops, 1008 the key is no " +
    "longer good, 1011 reconnect with the last cursor, 4408 the reader was too slow, 4410 the " +
    "cursor is too old.",
  right: "read",
  query: streamQueryParameters,
  status: 101,
  answer: streamMessage,
  errors: [],
  handlers: ({ service }) => [
    requireKey(service, { scope: "read" }),
    () => {
      throw malformed("upgrade_required", "This path is a WebSocket; ask to upgrade.", "Upgrade");
    },
  ],
};

/** Clients send nothing; a longer message closes the socket with 1009. */
const clientMessageBytesMax = 4_096;

export async function openStream(
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
): Promise<void> {
  const { hub, tail } = await Hub.open(service, cursors, catalogues);
  service.releases.push("stream tail", () => tail.close());
  const sockets = new OpenSockets(service);
  service.releases.push("sockets", () => sockets.close());
  const server = new WebSocketServer({ noServer: true, maxPayload: clientMessageBytesMax });
  /** Lines of its answer. */
  const begins = new WeakMap<IncomingMessage, readonly string[]>();
  server.on("headers", (headers, request) => {
    // As on every answer.
    headers.push(`X-Request-Id: ${requestIdOf(request, service.config)}`);
    headers.push(...(begins.get(request) ?? []));
  });
  // A handshake the library cannot accept; its own answer would lack our envelope.
  server.on("wsClientError", (error, socket, request) => {
    refuseRaw(socket, noHandshake(error.message), service, request);
  });

  service.upgrades.set(streamPath, (request, socket, head) => {
    void welcome(request, socket, head);
  });

  async function welcome(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const ignore = (): void => undefined;
    socket.on("error", ignore);
    try {
      const { caller, access, querystring } = await authorizeSocket(service, request);
      await service.limits.countKey(access.keyId);
      const query = readQuery({ querystring }, streamQueryParameters);
      const { after, sample, segment: ref, ...filters } = query;
      const segment = ref && (await segmentOfEvents(service.postgres, access, ref));
      const passes = passingOf(segment?.filters ?? {}, segment?.accounts ?? null);
      const place = after === undefined ? null : readPlace(cursors, access, after);
      sockets.admit(access.keyId);
      begins.set(request, [
        `X-Cursor: ${hub.cursorAt(access, place ?? hub.next)}`,
        ...(segment ? [`Segment: ${segment.text}`] : []),
      ]);
      // Calls back before it returns, or never: the socket begins where its cursor says.
      server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off("error", ignore);
        const { log } = service;
        const subscriber = new Subscriber(webSocket, hub, log, access, filters, passes, sample);
        sockets.add({ subscriber, webSocket, request, caller, access });
        subscriber.start(place).catch((error: unknown) => {
          service.logger.error({ err: error }, "a socket could not catch up");
          subscriber.lose();
        });
      });
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) service.logger.error({ err: thrown }, "upgrade failed");
      const caller = { ip: addressOf(request, service.config), state: { requestId: "" } };
      const error = await service.limits.refuse(caller, knownError(thrown));
      refuseRaw(socket, error, service, request);
    }
  }
}

/**
 * Names the version that is spoken here (RFC 6455, 4.4).
 * @param why a whole sentence
 */
function noHandshake(why: string): ApiError {
  const message = `No WebSocket handshake: ${why.replace(/\.$/, "")}.`;
  return new ApiError(400, "invalid_request", "handshake_malformed", message, {
    headers: { "Sec-WebSocket-Version": "13" },
  });
}

const placeSchema = z.array(z.string().regex(/^\d+$/));

function readPlace(cursors: Cursors, access: Access, after: string): bigint[] {
  const scope = streamScope(access.workspace, access.environment);
  return cursors.read(scope, after, placeSchema, "after").map(BigInt);
}
