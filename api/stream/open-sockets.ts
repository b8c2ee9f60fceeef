/** The sockets of this process: how many a key may have, their heartbeat, and their end. */
import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { stillAuthorized } from "../../http/auth.js";
import { ApiError } from "../../schemas/http/errors.js";
import type { Access } from "../../workspaces/keys.js";
import type { Service } from "../../service.js";
import { limits } from "../../config.js";
import type { Subscriber } from "./subscriber.js";
import type { Caller } from "../../http/state.js";

const everyMs = 1_000;
/** In parts, because thousands at once would hold up all else. */
const pingEachAfter = 15;
/** At a stop: how long peers may take to answer the close. */
const goodbyeMsMax = 1_000;

interface Open {
  readonly subscriber: Subscriber;
  readonly webSocket: WebSocket;
  /** The original request, which proves that the key is still valid. */
  readonly request: Pick<IncomingMessage, "headers" | "method" | "url">;
  readonly caller: Caller;
  readonly access: Access;
}

interface Kept extends Open {
  /** The second of `pingEachAfter` in which it is pinged. */
  readonly turn: number;
}

export class OpenSockets {
  /** By key or session. */
  readonly #open = new Map<string, Set<Kept>>();
  readonly #timer: NodeJS.Timeout;
  #turn = 0;
  #added = 0;

  constructor(private readonly service: Service) {
    this.#timer = setInterval(() => {
      this.#ping();
      void this.#checkCallers();
    }, everyMs);
    this.#timer.unref();
  }

  /** @throws ApiError 429 when the key or session has as many sockets as it may */
  admit(keyId: string): void {
    if ((this.#open.get(keyId)?.size ?? 0) < limits.socketsPerKeyMax) return;
    throw new ApiError(
      429,
      "rate_limited",
      "sockets_too_many",
      `A key or session may have ${limits.socketsPerKeyMax} sockets open.`,
      { headers: { "Retry-After": "1" } },
    );
  }

  add(open: Open): void {
    const { keyId } = open.access;
    const ofKey = this.#open.get(keyId) ?? new Set();
    this.#added += 1;
    const kept = { turn: this.#added % pingEachAfter, ...open };
    this.#open.set(keyId, ofKey.add(kept));
    open.webSocket.on("error", (error) => this.service.logger.debug({ err: error }, "socket"));
    open.webSocket.on("close", () => {
      ofKey.delete(kept);
      if (ofKey.size === 0) this.#open.delete(keyId);
    });
  }

  /** Announces the stop to every peer, and waits a moment for them. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const farewells = this.#all().map(async ({ subscriber, webSocket }) => {
      const closed = new Promise((resolve) => webSocket.once("close", resolve));
      subscriber.close(1001, "The service is stopping.");
      await Promise.race([closed, pause(goodbyeMsMax)]);
      webSocket.terminate();
    });
    await Promise.all(farewells);
  }

  #all(): Kept[] {
    return [...this.#open.values()].flatMap((ofKey) => [...ofKey]);
  }

  #ping(): void {
    this.#turn = (this.#turn + 1) % pingEachAfter;
    for (const { subscriber, turn } of this.#all()) {
      if (turn === this.#turn) subscriber.ping();
    }
  }

  /** Closes the sockets of revoked keys, ended sessions and removed members. */
  async #checkCallers(): Promise<void> {
    for (const ofKey of this.#open.values()) {
      // A session may have sockets of several workspaces.
      const refusals = new Map<string, ApiError | null>();
      for (const { request, caller, access, subscriber } of ofKey) {
        const { workspace } = access;
        if (!refusals.has(workspace)) {
          refusals.set(workspace, await stillAuthorized(this.service, request, caller, access));
        }
        const refusal = refusals.get(workspace);
        if (refusal) subscriber.close(1008, refusal.message);
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
