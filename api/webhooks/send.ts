/**
 * Sends what waits. One process calls an endpoint at a time, by a lease; endpoints do not wait for
 * each other. A call that was not noted is made again.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import { signedMessage } from "../../providers/custom/signature.js";
import { grouped } from "../../runtime/lists.js";
import { Lookout } from "../../runtime/lookout.js";
import type { Service } from "../../service.js";
import { tryExclusively } from "../../stores/postgres/leases.js";
import { CallFailed, post } from "../../workspaces/channels/outbound.js";
import {
  type Delivery,
  dueDeliveries,
  dueEndpoints,
  forgetDeliveries,
} from "../../workspaces/webhooks/deliveries.js";
import { reportDisabled } from "../../workspaces/webhooks/announce.js";
import {
  type Endpoint,
  type ListedEndpoint,
  findEndpoint,
  secretsOf,
  deliveryNews,
} from "../../workspaces/webhooks/endpoints.js";
import { noteFailed, noteTaken } from "../../workspaces/webhooks/outcomes.js";

const lookEveryMs = 250;
const calmLookEveryMs = 10_000;
/** Few at a time, so that changes by others are seen. */
const deliveriesAtOnce = 100;
const forgetEveryMs = 60 * 60 * 1000;
const forgottenAtOnce = 1_000;

type Due = Pick<Endpoint, "id" | "workspace">;

export function startSending(service: Service): void {
  const sender = new Sender(service);
  const running = sender.run();
  service.releases.push("webhooks", async () => {
    await sender.stop();
    await running;
  });
  const forget = (): void => {
    forgetOld(service.postgres, Date.now()).catch((err: unknown) => {
      service.logger.warn({ err }, "old deliveries could not be removed");
    });
  };
  const timer = setInterval(forget, forgetEveryMs).unref();
  service.releases.push("old deliveries", () => clearInterval(timer));
}

/** @param now ms since 1970 */
export async function forgetOld(postgres: Service["postgres"], now: number): Promise<void> {
  const before = new Date(now - limits.webhookDeliveriesKeptMs);
  while ((await forgetDeliveries(postgres, before, forgottenAtOnce)) === forgottenAtOnce);
}

class Sender {
  /** No further call begins. */
  readonly #stopping = new AbortController();
  /** Calls under way are cut short. */
  readonly #cutting = new AbortController();
  readonly #running = new Map<string, Promise<void>>();

  constructor(private readonly service: Service) {
    // Each call under way listens; their number is limited elsewhere.
    setMaxListeners(0, this.#cutting.signal, this.#stopping.signal);
  }

  async run(): Promise<void> {
    const { log, logger } = this.service;
    // Other processes' new deliveries are not announced here.
    const calmEveryMs = log.shared ? lookEveryMs : calmLookEveryMs;
    const lookout = new Lookout(deliveryNews, { everyMs: lookEveryMs, calmEveryMs });
    await lookout.watch(
      this.#stopping.signal,
      () => this.#begin(),
      (err) => logger.error({ err }, "webhooks could not be sent; again soon"),
    );
    await Promise.all(this.#running.values());
  }

  /**
   * Waits a moment, so that what receivers are just accepting is not sent again after the start.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const cut = setTimeout(() => this.#cutting.abort(), limits.openCallsMsMax);
    await Promise.all(this.#running.values());
    clearTimeout(cut);
  }

  async #begin(): Promise<boolean> {
    const others = [...this.#running.keys()];
    const rowsMax = limits.webhookEndpointsAtOnceMax - others.length;
    const due = await dueEndpoints(this.service.postgres, new Date(), { others, rowsMax });
    for (const endpoint of due) {
      const sending = this.#sendAll(endpoint).finally(() => this.#running.delete(endpoint.id));
      this.#running.set(endpoint.id, sending);
    }
    return due.length > 0;
  }

  async #sendAll({ id, workspace }: Due): Promise<void> {
    const { log, logger, postgres } = this.service;
    const work = async (): Promise<void> => {
      while (!this.#stopping.signal.aborted) {
        const endpoint = await findEndpoint(postgres, workspace, id);
        if (endpoint === null || !isOpen(endpoint, new Date())) return;
        const due = await dueDeliveries(postgres, id, new Date(), deliveriesAtOnce);
        if (due.length === 0) return;
        await this.#sendSome(endpoint, due);
      }
    };
    try {
      // Alone, a process need not wait for the lease of a killed predecessor.
      if (log.shared) await tryExclusively(postgres, `webhook ${id}`, work);
      else await work();
    } catch (err) {
      logger.error({ err, endpoint: id }, "webhooks of an endpoint could not be sent; again soon");
      const { signal } = this.#stopping;
      await pause(limits.retryPauseMsMax, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Lanes side by side, each in order; after a failure nothing further begins, and a slow lane
   * makes room for what came meanwhile.
   */
  async #sendSome(endpoint: ListedEndpoint, due: readonly Delivery[]): Promise<void> {
    const lanes = [...grouped(due, ({ lane }) => lane).values()];
    // A failing endpoint is tried by one call.
    const calls = endpoint.failures > 0 ? 1 : limits.webhookCallsMax;
    let hasFailed = false;
    const startedAt = performance.now();
    const isLate = () => performance.now() - startedAt > limits.webhookBatchMs;
    const work = async (): Promise<void> => {
      for (let lane = lanes.shift(); lane !== undefined; lane = lanes.shift()) {
        for (const delivery of lane) {
          if (hasFailed || this.#stopping.signal.aborted) return;
          const failure = await this.#call(endpoint, delivery);
          if (failure === null) {
            if (lanes.length === 0 && isLate()) return;
            continue;
          }
          if (this.#cutting.signal.aborted) return;
          const isFirst = !hasFailed;
          hasFailed = true;
          await this.#noteFailed(endpoint, delivery, failure, isFirst);
        }
      }
    };
    await Promise.all(Array.from({ length: calls }, work));
  }

  /** @returns why it was not accepted */
  async #call(endpoint: Endpoint, delivery: Delivery): Promise<CallFailed | null> {
    const { config, postgres, vault, metrics } = this.service;
    const { body, message } = delivery;
    const now = new Date();
    const secrets = secretsOf(vault, endpoint, now);
    const headers = {
      "content-type": "application/json",
      "user-agent": "revenue-aggregation-service",
      ...signedMessage(message, Buffer.from(body), secrets, now.getTime()),
    };
    try {
      const sent = { headers, body };
      const status = await post(config, endpoint.url, sent, this.#cutting.signal);
      await noteTaken(postgres, delivery, status, new Date());
      metrics.webhookCalls.inc({ outcome: "taken" });
      return null;
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      metrics.webhookCalls.inc({ outcome: "failed" });
      return error;
    }
  }

  async #noteFailed(
    endpoint: Endpoint,
    delivery: Delivery,
    failure: CallFailed,
    isFirst: boolean,
  ): Promise<void> {
    const now = new Date();
    const by = await noteFailed(this.service.postgres, delivery, failure, isFirst, now);
    if (by === null) return;
    const { id, workspace, url } = endpoint;
    await reportDisabled(this.service, { workspace, endpoint: id, url }, by, now);
  }
}

function isOpen({ disabled_at: disabledAt, wait_until: waitUntil }: Endpoint, now: Date): boolean {
  return disabledAt === null && (waitUntil === null || waitUntil <= now);
}
