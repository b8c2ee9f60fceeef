/**
 * From the 2xx of a webhook to where people see it: the message on the socket, and the list of
 * transactions. Webhooks come at an even pace, so a slow moment delays nobody's clock.
 */
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import { z } from "zod";
import { transactionId } from "../../schemas/ids.js";
import { type Figure, percentile, short, spread } from "./figures.js";
import { ConnectionPool, requestBytes } from "./http-connection.js";
import { sendEvenly } from "./load.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { type RunningService, nodeCommand, withService } from "./service.js";
import { measureStores } from "./store-floor.js";
import { productNamePrefix, type SaleEvent, StripeSales } from "./stripe-sales.js";
import { type Tenant, createTenant, settled, webhookRequest } from "./tenant.js";

const webhooksPerSecond = 200;
const warmUpSeconds = 5;
/** Calls under way; with more the service has stood still for 20 seconds. */
const connectionsMax = 4_000;
/** One payment in so many is looked for in the list: about one a second. */
const paymentsPerProbe = 67;
const probePauseMs = 10;
/** Under way at a time: what looks must not become a load of its own. */
const probesMax = 1;
/** A probe that takes longer counts as never. */
const probeMsMax = 30_000;
/** From the end of booking until the last message is here. */
const lastMessageMs = 2_000;
/**
 * Payments are told a while after they were made, as Stripe does; a probe's is told at once, so
 * that it stands on the first page.
 */
const toldAfterMs = 60_000;
const cpuSeconds = "process_cpu_seconds_total";
const p50MsMax = 60;
const p99MsMax = 250;

export async function latency({ seconds, profileFolder }: Options): Promise<Figure[]> {
  const { roundsMs } = await withFolder(measureStores);
  console.log(`  floor: append, insert, select   ${spread(roundsMs)}`);
  const measured = await withFolder((folder) =>
    withService(folder, nodeCommand(profileFolder), async (service) => {
      const tenant = await createTenant(service);
      const pool = new ConnectionPool(service.base, connectionsMax);
      const socket = await openSocket(service, tenant);
      try {
        await new Run(pool, tenant, "warm").send(warmUpSeconds);
        await settled(service, tenant);
        const run = new Run(pool, tenant, "run");
        const cpuBefore = await service.metric(cpuSeconds);
        await run.send(seconds);
        const cores = ((await service.metric(cpuSeconds)) - cpuBefore) / seconds;
        console.log(`  the service used ${short(cores)} cores`);
        await settled(service, tenant);
        await pause(lastMessageMs);
        return await run.durations(socket.arrivals);
      } finally {
        socket.close();
        pool.close();
      }
    }),
  );
  return [
    figuresOf("sent → 2xx", measured.answered),
    figuresOf("2xx → on the socket", measured.told, roundsMs),
    figuresOf("2xx → with its product", measured.named, roundsMs),
    figuresOf("2xx → GET /v1/transactions", measured.readable, roundsMs),
  ].flat();
}

/** With a floor there is a target: what is said of the way from the answer to the people. */
function figuresOf(
  name: string,
  valuesMs: readonly number[],
  floorMs?: readonly number[],
): Figure[] {
  console.log(`  ${name.padEnd(30)}  ${spread(valuesMs)}`);
  const figure = (p: number, valueMax: number): Figure => ({
    name: `${name}, p${p * 100}`,
    value: percentile(valuesMs, p),
    unit: "ms",
    ...(floorMs ? { floor: percentile(floorMs, p), target: { valueMax } } : {}),
  });
  return [figure(0.5, p50MsMax), figure(0.99, p99MsMax)];
}

interface Durations {
  readonly answered: readonly number[];
  /** The first message of a payment, from the answer to its charge. */
  readonly told: readonly number[];
  /** The message that knows what was bought, from the answer to the last of its three events. */
  readonly named: readonly number[];
  readonly readable: readonly number[];
}

class Run {
  readonly #sales: StripeSales;
  readonly #queue: SaleEvent[];
  readonly #answered: number[] = [];
  /** Payments to look for in the list, and how long that took. */
  readonly #probed = new Set<string>();
  readonly #readable: Promise<number>[] = [];
  #probing = 0;
  readonly #answers = new Map<string, Answers>();
  #failure: unknown = null;
  #payments = 0;

  constructor(
    private readonly pool: ConnectionPool,
    private readonly tenant: Tenant,
    name: string,
  ) {
    this.#sales = new StripeSales(name);
    this.#queue = this.#sales.products(Date.now() - toldAfterMs);
  }

  async send(seconds: number): Promise<void> {
    await sendEvenly(webhooksPerSecond, webhooksPerSecond * seconds, () => {
      this.#sendOne().catch((error: unknown) => (this.#failure ??= error));
    });
  }

  /** @throws what went wrong while sending */
  async durations(arrivals: Arrivals): Promise<Durations> {
    const readable = await Promise.all(this.#readable);
    if (this.#failure !== null) throw this.#failure;
    // The run may end between the events of one payment.
    const payments = [...this.#answers].filter(([, { events }]) => events === eventsPerPayment);
    // A message may be here before the answer to its webhook has been read.
    const since = (from: number, to = Number.POSITIVE_INFINITY) => Math.max(0, to - from);
    return {
      answered: this.#answered,
      told: payments.map(([id, { chargeAt }]) => since(chargeAt, arrivals.first.get(id))),
      named: payments.map(([id, { lastAt }]) => since(lastAt, arrivals.named.get(id))),
      readable,
    };
  }

  async #sendOne(): Promise<void> {
    const event = this.#queue.shift() ?? this.#nextSale();
    const sentAt = performance.now();
    const request = webhookRequest(this.tenant.webhookPath, event.body);
    const { status, body } = await this.pool.send(request);
    if (status !== 200) throw new Error(`refused with ${status}: ${body.toString()}`);
    const answeredAt = performance.now();
    this.#answered.push(answeredAt - sentAt);
    if (event.payment === null) return;
    const id = transactionId(this.tenant.workspace, "live", "stripe", event.payment);
    const answers = this.#answers.get(id) ?? { chargeAt: Number.NaN, lastAt: 0, events: 0 };
    this.#answers.set(id, answers);
    answers.lastAt = answeredAt;
    answers.events += 1;
    if (event.type !== "charge.succeeded") return;
    answers.chargeAt = answeredAt;
    if (this.#probed.has(event.payment) && this.#probing < probesMax) {
      this.#probing += 1;
      const ended = () => void (this.#probing -= 1);
      this.#readable.push(this.#probe(id, answeredAt).finally(ended));
    }
  }

  #nextSale(): SaleEvent {
    const isProbed = this.#payments++ % paymentsPerProbe === 0;
    const events = this.#sales.next(Date.now() - (isProbed ? 0 : toldAfterMs));
    if (isProbed) for (const { payment } of events) if (payment) this.#probed.add(payment);
    const [first, ...others] = events;
    if (first === undefined) throw new Error("a sale is told by several events");
    this.#queue.push(...others);
    return first;
  }

  /** ms from the answer until the first page of the list shows the transaction. */
  async #probe(id: string, answeredAt: number): Promise<number> {
    const request = requestBytes("GET", "/v1/transactions", {
      Authorization: this.tenant.authorization,
    });
    while (performance.now() < answeredAt + probeMsMax) {
      const { body } = await this.pool.send(request);
      if (body.includes(id)) return performance.now() - answeredAt;
      await pause(probePauseMs);
    }
    return Number.POSITIVE_INFINITY;
  }
}

/** When the events of one payment were answered, on the clock of `performance`. */
interface Answers {
  chargeAt: number;
  lastAt: number;
  events: number;
}

/** The charge, its invoice, and what ties them. */
const eventsPerPayment = 3;

interface Arrivals {
  readonly first: Map<string, number>;
  readonly named: Map<string, number>;
}

const streamMessage = z.object({ id: z.string(), product_name: z.string() });

async function openSocket(service: RunningService, tenant: Tenant) {
  const url = new URL("/v1/events/stream", service.base);
  url.protocol = "ws:";
  const socket = new WebSocket(url, { headers: { authorization: tenant.authorization } });
  const arrivals: Arrivals = { first: new Map(), named: new Map() };
  let closed: number | null = null;
  socket.on("close", (code) => (closed = code));
  socket.on("message", (data: Buffer) => {
    const now = performance.now();
    const { id, product_name } = streamMessage.parse(JSON.parse(data.toString()));
    if (!arrivals.first.has(id)) arrivals.first.set(id, now);
    if (product_name.startsWith(productNamePrefix) && !arrivals.named.has(id)) {
      arrivals.named.set(id, now);
    }
  });
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return {
    arrivals,
    /** @throws when the service has closed it before: what is missing then is not late */
    close(): void {
      if (closed !== null) throw new Error(`the service closed the socket with ${closed}`);
      socket.close();
    },
  };
}
