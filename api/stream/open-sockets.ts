/** The sockets of this process: how many a key may have, their heartbeat, and their end. */
import type { WebSocket } from "ws";
import { authorize } from "../../http/auth.js";
import { ApiError } from "../../http/errors.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";

import { type Subscriber, streamPath } from "./subscriber.js";

/** The look-up is cached for a few seconds, so this mostly costs nothing. */
const keyCheckMs = 1_000;
/** At a stop: how long peers may take to answer the close. */
const goodbyeMsMax = 1_000;

interface Open {
  readonly subscriber: Subscriber;
  readonly webSocket: WebSocket;
  readonly keyId: string;
  /** As sent: what proves that the key is still good. */
  readonly authorization: string;
}

export class OpenSockets {
  readonly #open = new Set<Open>();
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(private readonly service: Pick<Service, "keys" | "logger">) {
    this.#timers = [
      setInterval(() => this.#ping(), limits.socketPingMs),
      setInterval(() => void this.#checkKeys(), keyCheckMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /** @throws ApiError 429 when the key has as many sockets as it may */
  admit(keyId: string): void {
    const count = [...this.#open].filter((open) => open.keyId === keyId).length;
    if (count < limits.socketsPerKeyMax) return;
    throw new ApiError(
      429,
      "rate_limited",
      "sockets_too_many",
      `A key may have ${limits.socketsPerKeyMax} sockets open.`,
      { headers: { "Retry-After": "1" } },
    );
  }

  add(open: Open): void {
    this.#open.add(open);
    open.webSocket.on("error", (error) => this.service.logger.debug({ err: error }, "socket"));
    open.webSocket.on("close", () => this.#open.delete(open));
  }

  /** Tells every peer that this process stops, and waits for them a moment. */
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

  /** A revoked or expired key closes its sockets. A database that is away closes none. */
  async #checkKeys(): Promise<void> {
    for (const authorization of new Set([...this.#open].map((open) => open.authorization))) {
      const request = { headers: { authorization }, url: streamPath };
      const refusal = await authorize(this.service, request, "read").then(
        () => null,
        (error: unknown) => error,
      );
      if (!(refusal instanceof ApiError)) continue;
      for (const open of this.#open) {
        if (open.authorization === authorization) open.subscriber.close(1008, refusal.message);
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
