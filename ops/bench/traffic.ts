/**
 * The load generator: sales at an even pace, and how long each takes from its 2xx to where people
 * see it.
 */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import { z } from "zod";
import { transactionId } from "../../schemas/ids.js";
import { HttpClient } from "./http-client.js";
import { type SaleEvent, StripeSales } from "./stripe-sales.js";
import { createTenant, type Manager, settled, type Tenant, webhookCall } from "./tenant.js";

/** From the end of booking until the last message is here. */
const lastMessageMs = 2_000;

/** Payments looked for in the list; one answer is of use to all that are looked for then. */
const probesPerSecond = 3;
const probePauseMs = 10;
/** A probe that takes longer counts as never. */
const probeMsMax = 30_000;
/** Room for the payments of that time. */
const list = "/v1/transactions?limit=200";
/**
 * Payments are reported a while after they were made, as Stripe does; a probe's is reported at
 * once, so that it stands on the first page.
 */
const sentAfterMs = 60_000;

/** Where events go, and where figures are asked: the same process, or not. */
interface Sides {
  readonly webhooks: HttpClient;
  readonly readers: HttpClient;
  readonly tenant: Tenant;
  /** Of the API. */
  readonly base: URL;
  readonly arrivals: Arrivals;
}

/** Begins a run at so many webhooks a second; its name keeps its sales apart from others'. */
export type Begin = (name: string, perSecond: number, options?: RunOptions) => Run;

/** With a socket open, on which every sale is to arrive. */
export async function withTraffic<T>(
  { base, ingest = base }: { readonly base: URL; readonly ingest?: URL },
  tenant: Tenant,
  use: (begin: Begin) => Promise<T>,
): Promise<T> {
  const [webhooks, readers] = [new HttpClient(ingest), new HttpClient(base)];
  const socket = await openSocket(base, tenant);
  const sides = { webhooks, readers, tenant, base, arrivals: socket.arrivals };
  try {
    return await use((name, perSecond, options) => new Run(sides, perSecond, name, options));
  } finally {
    socket.close();
    webhooks.close();
    readers.close();
  }
}

/**
 * Sends `count` webhooks while no socket is open.
 * @returns how long each call took until its 2xx, in ms
 * @throws when a call fails, or answers do not keep up
 */
export async function sendSales(
  base: URL,
  tenant: Tenant,
  perSecond: number,
  count: number,
  name = "sales",
): Promise<readonly number[]> {
  const pool = new HttpClient(base);
  const sides = { webhooks: pool, readers: pool, tenant, base, arrivals: new Map() };
  const run = new Run(sides, perSecond, name, { probes: false });
  await run.send(count / perSecond);
  const answered = await run.answered();
  pool.close();
  return answered;
}

/** Enough that every SKU has a product in the catalogue. */
const firstSales = 200;
const firstSalesPerSecond = 100;

/** A tenant with some sales booked, beside which its tables can be filled. */
export async function tenantWithSales(service: Manager): Promise<Tenant> {
  const tenant = await createTenant(service);
  await sendSales(service.base, tenant, firstSalesPerSecond, firstSales);
  await settled(service, tenant);
  return tenant;
}

interface RunOptions {
  /** The catalogue knows the products already. */
  readonly sold?: boolean;
  /** False: no payments are looked for in the list, which is a load of its own. */
  readonly probes?: boolean;
}

interface Durations {
  readonly answered: readonly number[];
  /** The first message of a payment, from the answer to its charge. */
  readonly reported: readonly number[];
  readonly readable: readonly number[];
}

class Run {
  readonly #sales: StripeSales;
  readonly #queue: SaleEvent[];
  readonly #answered: Promise<number>[] = [];
  /** Payments to look for in the list, the transactions looked for, and how long each took. */
  readonly #probed = new Set<string>();
  readonly #sought = new Map<string, number>();
  readonly #readable: number[] = [];
  #looking: Promise<void> | null = null;
  /** When the charge of each payment was answered, on the clock of `performance`. */
  readonly #charged = new Map<string, number>();
  #payments = 0;

  constructor(
    private readonly sides: Sides,
    private readonly perSecond: number,
    name: string,
    private readonly options: RunOptions = {},
  ) {
    this.#sales = new StripeSales(name);
    this.#queue = options.sold === true ? [] : this.#sales.products(Date.now() - sentAfterMs);
  }

  /** An open loop: calls are sent at a fixed rate, however slow the server is. */
  async send(seconds: number): Promise<void> {
    const count = this.perSecond * seconds;
    const startedAt = performance.now();
    for (let sent = 0; sent < count;) {
      const elapsedSeconds = (performance.now() - startedAt) / 1_000;
      const due = Math.min(count, Math.ceil(elapsedSeconds * this.perSecond));
      for (; sent < due; sent += 1) {
        const answer = this.#sendOne();
        // It is looked at when all were sent.
        answer.catch(() => undefined);
        this.#answered.push(answer);
      }
      await pause(1);
    }
  }

  /**
   * @returns how long each call took until its 2xx, in ms
   * @throws the first error of a call
   */
  async answered(): Promise<readonly number[]> {
    const ended = await Promise.allSettled(this.#answered);
    return ended.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  }

  /** When all is booked and the last message is here. @throws what went wrong while sending */
  async durations(): Promise<Durations> {
    const { tenant, base, arrivals } = this.sides;
    await settled({ base }, tenant);
    await pause(lastMessageMs);
    await this.#looking;
    const answered = await this.answered();
    // A message may be here before the answer to its webhook has been read.
    const since = (from: number, to = Number.POSITIVE_INFINITY) => Math.max(0, to - from);
    return {
      answered,
      reported: [...this.#charged].map(([id, at]) => since(at, arrivals.get(id))),
      readable: this.#readable,
    };
  }

  /** ms until its 2xx. */
  async #sendOne(): Promise<number> {
    const event = this.#queue.shift() ?? this.#nextSale();
    const sentAt = performance.now();
    const call = webhookCall(this.sides.tenant.webhookPath, event.body);
    const { status, body } = await this.sides.webhooks.send(call);
    if (status !== 200) throw new Error(`refused with ${status}: ${body.toString()}`);
    const answeredAt = performance.now();
    const tookMs = answeredAt - sentAt;
    if (event.payment === null) return tookMs;
    const id = transactionId(this.sides.tenant.workspace, "live", "stripe", event.payment);
    this.#charged.set(id, answeredAt);
    if (this.#probed.has(event.payment)) {
      this.#sought.set(id, answeredAt);
      this.#looking ??= this.#look().finally(() => (this.#looking = null));
    }
    return tookMs;
  }

  get #paymentsPerProbe(): number {
    return Math.ceil(this.perSecond / eventsPerPayment / probesPerSecond);
  }

  #nextSale(): SaleEvent {
    const { probes = true } = this.options;
    const isProbed = probes && this.#payments++ % this.#paymentsPerProbe === 0;
    const events = this.#sales.next(Date.now() - (isProbed ? 0 : sentAfterMs));
    if (isProbed) for (const { payment } of events) if (payment) this.#probed.add(payment);
    const [first, ...others] = events;
    if (first === undefined) throw new Error("a sale is reported by several events");
    this.#queue.push(...others);
    return first;
  }

  /** Until the list has shown all that are sought: ms from the answer to each. */
  async #look(): Promise<void> {
    const headers = { authorization: `Bearer ${this.sides.tenant.key}` };
    while (this.#sought.size > 0) {
      const { body } = await this.sides.readers.send({ path: list, headers });
      const now = performance.now();
      for (const [id, answeredAt] of this.#sought) {
        const isShown = body.includes(id);
        const isNever = now > answeredAt + probeMsMax;
        if (!isShown && !isNever) continue;
        this.#sought.delete(id);
        this.#readable.push(isShown ? now - answeredAt : Number.POSITIVE_INFINITY);
      }
      await pause(probePauseMs);
    }
  }
}

/** The charge, its invoice, and what ties them. */
const eventsPerPayment = 3;

/** When the first message of a transaction came. */
type Arrivals = ReadonlyMap<string, number>;

const streamMessage = z.object({ id: z.string() });

async function openSocket(base: URL, tenant: Tenant) {
  const url = new URL("/v1/events/stream", base);
  url.protocol = "ws:";
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${tenant.key}` } });
  const arrivals = new Map<string, number>();
  let closed: number | null = null;
  socket.on("close", (code) => (closed = code));
  socket.on("message", (data: Buffer) => {
    const now = performance.now();
    const { id } = streamMessage.parse(JSON.parse(data.toString()));
    if (!arrivals.has(id)) arrivals.set(id, now);
  });
  await once(socket, "open");
  return {
    arrivals,
    /** @throws when the service has closed it before: what is missing then is not late */
    close(): void {
      if (closed !== null) throw new Error(`the service closed the socket with ${closed}`);
      socket.close();
    },
  };
}
