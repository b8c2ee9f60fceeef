/** The sockets of this process: how many a key may have, their heartbeat, and their end. */
import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { stillAuthorized } from "../../http/auth.js";
import { ApiError } from "../../http/errors.js";
import type { Access } from "../../workspaces/keys.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import type { Subscriber } from "./subscriber.js";
import type { Caller } from "../../http/state.js";

const socketPingMs = 15_000;

/** The look-up is cached for a few seconds, so this mostly costs nothing. */
const keyCheckMs = 1_000;
/** At a stop: how long peers may take to answer the close. */
const goodbyeMsMax = 1_000;

interface Open {
  readonly subscriber: Subscriber;
  readonly webSocket: WebSocket;
  /** As sent: what proves that the key is still good. */
  readonly request: Pick<IncomingMessage, "headers" | "method" | "url">;
  readonly caller: Caller;
  readonly access: Access;
}

export class OpenSockets {
  readonly #open = new Set<Open>();
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(private readonly service: Service) {
    this.#timers = [
      setInterval(() => this.#ping(), socketPingMs),
      setInterval(() => void this.#checkCallers(), keyCheckMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /** @throws ApiError 429 when the key or session has as many sockets as it may */
  admit(keyId: string): void {
    const count = [...this.#open].filter(({ access }) => access.keyId === keyId).length;
    if (count < limits.socketsPerKeyMax) return;
    throw new ApiError(
      429,
      "rate_limited",
      "sockets_too_many",
      `A key or session may have ${limits.socketsPerKeyMax} sockets open.`,
      { headers: { "Retry-After": "1" } },
    );
  }

  add(open: Open): void {
    this.#open.add(open);
    open.webSocket.on("error", (error) => this.service.logger.debug({ err: error }, "socket"));
    open.webSocket.on("close", () => this.#open.delete(open));
  }

  /** Reports every peer that this process stops, and waits for them a moment. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const farewells = [...this.#open].map(async ({ subscriber, webSocket }) => {
      const closed = new Promise((resolve) => webSocket.once("close", resolve));
      subscriber.close(1001, "The service is stopping.");
      await Promise.race([closed, pause(goodbyeMsMax)]);
      webSocket.terminate();
    });
    await Promise.all(farewells);
  }

  #ping(): void {
    for (const { subscriber } of this.#open) subscriber.ping();
  }

  /** A key revoked, a session ended, a member removed: their sockets close. */
  async #checkCallers(): Promise<void> {
    for (const { request, caller, access, subscriber } of this.#open) {
      const refusal = await stillAuthorized(this.service, request, caller, access);
      if (refusal !== null) subscriber.close(1008, refusal.message);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
