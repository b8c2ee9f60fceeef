/**
 * One open socket: first what it missed, read from the log, then the live stream, without a gap or
 * repeat. Close codes: 1001 stopping, 1008 key no longer valid, 1011 reconnect, 4408 reads too
 * slowly, 4410 cursor too old (`definitions.md`, Stream).
 */
import type { WebSocket } from "ws";
import type { Access } from "../../workspaces/keys.js";
import type { Log, LogRecord } from "../../stores/log/log.js";
import { limits } from "../../config.js";
import type { StreamQuery } from "./schema.js";
import { topics, transactionCodec, type TransactionRecord } from "../../schemas/records/records.js";
import type { passingOf } from "../../workspaces/webhooks/wanted.js";
import { type Hub, type Listener, type Place, tenantOf } from "./hub.js";

/**
 * At most so many messages a second. What is left out is counted in the next message, and the last
 * one is never left out: a reader always ends with the newest, and with a cursor from which nothing
 * is missing.
 */
export class Sample {
  #sent = 0;
  #skipped = 0;
  #latest: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly perSecond: number,
    private readonly send: (text: string) => void,
  ) {}

  take(text: string): void {
    this.#timer ??= setTimeout(() => this.#turn(), 1_000).unref();
    if (this.#sent < this.perSecond) return this.#emit(text);
    if (this.#latest !== null) this.#skipped += 1;
    this.#latest = text;
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#latest = null;
  }

  #turn(): void {
    this.#timer = null;
    this.#sent = 0;
    const latest = this.#latest;
    this.#latest = null;
    if (latest === null) return;
    this.#timer = setTimeout(() => this.#turn(), 1_000).unref();
    this.#emit(latest);
  }

  /** @param text a JSON object, written once for all readers */
  #emit(text: string): void {
    this.#sent += 1;
    this.send(`${text.slice(0, -1)},"skipped":${this.#skipped}}`);
    this.#skipped = 0;
  }
}

export const streamPath = "/v1/events/stream";

const readRecordsMax = 500;
/** How long a peer may take to answer a close before its connection is cut. */
const closeMsMax = 5_000;
/** The tail of this process may be behind the one that made the cursor, so it waits. */
const tailPauseMs = 20;

export class Subscriber implements Listener {
  readonly tenant: string;
  #isAlive = true;
  readonly #sample: Sample | null;

  constructor(
    private readonly socket: WebSocket,
    private readonly hub: Hub,
    private readonly log: Log,
    access: Pick<Access, "workspace" | "environment">,
    private readonly filters: Pick<StreamQuery, "provider" | "status">,
    /** Of a segment. */
    private readonly passes: ReturnType<typeof passingOf>,
    sample?: number,
  ) {
    this.#sample = sample === undefined ? null : new Sample(sample, (text) => this.#send(text));
    this.tenant = tenantOf(access.workspace, access.environment);
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    socket.on("close", () => {
      hub.leave(this);
      this.#sample?.end();
    });
  }

  /** @param after null: live from now on */
  async start(after: Place | null): Promise<void> {
    if (after === null) return this.hub.join(this);
    const problem = await this.#problemWith(after);
    if (problem !== null) return this.close(4410, problem);
    await this.#catchUp([...after]);
  }

  wants(record: TransactionRecord, product: string | null): boolean {
    const { provider, status } = this.filters;
    return (
      !record.backfill &&
      isAmong(provider, record.provider) &&
      isAmong(status, record.status) &&
      this.passes({
        provider: record.provider,
        ...(product !== null && { product }),
        currency: record.original_currency,
        country: record.customer_country,
        account: record.account,
      })
    );
  }

  take(text: string): void {
    if (this.#sample === null) this.#send(text);
    else this.#sample.take(text);
  }

  #send(text: string): void {
    this.socket.send(text);
    if (this.socket.bufferedAmount > limits.socketBufferedBytesMax) {
      this.close(4408, "Reading too slowly; reconnect with the last cursor.");
    }
  }

  lose(): void {
    this.close(1011, "A message failed; reconnect with the last cursor.");
  }

  /** A peer that did not answer the last ping is gone. */
  ping(): void {
    if (!this.#isAlive) return this.socket.terminate();
    this.#isAlive = false;
    this.socket.ping();
  }

  close(code: number, reason: string): void {
    this.hub.leave(this);
    this.socket.close(code, reason);
    setTimeout(() => this.socket.terminate(), closeMsMax).unref();
  }

  async #problemWith(after: Place): Promise<string | null> {
    const [earliest, ends] = await Promise.all([
      this.log.earliest(topics.transactions),
      this.log.ends(topics.transactions),
    ]);
    const isOfThisLog =
      after.length === ends.length &&
      after.every((offset, index) => offset <= (ends[index] ?? -1n));
    if (!isOfThisLog) return "The cursor belongs to another log; start again.";
    if (after.some((offset, index) => offset < (earliest[index] ?? 0n))) {
      return "The cursor is too old: later messages are no longer kept.";
    }
    const missed = ends.reduce((sum, end, index) => sum + end - (after[index] ?? end), 0n);
    if (missed <= BigInt(limits.socketReplayRecordsMax)) return null;
    return "The cursor is too old: too many messages follow; read the list instead.";
  }

  /** @param place moves on with what was read */
  async #catchUp(place: bigint[]): Promise<void> {
    while (this.#isOpen()) {
      const behind = place.findIndex((offset, index) => offset < (this.hub.next[index] ?? 0n));
      if (behind >= 0) {
        if (!(await this.#catchUpPartition(place, behind))) return;
        continue;
      }
      if (place.every((offset, index) => offset === this.hub.next[index])) {
        return this.hub.join(this);
      }
      await new Promise((resolve) => setTimeout(resolve, tailPauseMs));
    }
  }

  /** @returns false when the records are gone */
  async #catchUpPartition(place: bigint[], partition: number): Promise<boolean> {
    const from = place[partition] ?? 0n;
    const records = await this.log.read(topics.transactions, partition, from, readRecordsMax);
    if (records[0]?.offset !== from) {
      this.close(4410, "The cursor is too old: later messages are no longer kept.");
      return false;
    }
    for (const record of records) {
      if (record.offset >= (this.hub.next[partition] ?? 0n) || !this.#isOpen()) break;
      place[partition] = record.offset + 1n;
      await this.#replay(record, place);
    }
    return true;
  }

  /** Resolves when the message left this process, so a slow reader slows only its own replay. */
  async #replay({ value }: LogRecord, place: Place): Promise<void> {
    const record = transactionCodec.decode(value);
    if (tenantOf(record.workspace, record.environment) !== this.tenant) return;
    if (!this.wants(record, null)) return;
    const product = await this.hub.productOf(record);
    if (!this.wants(record, product.id)) return;
    const text = this.hub.messageText(record, product, place);
    await new Promise<void>((resolve) => this.socket.send(text, () => resolve()));
  }

  #isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }
}

/** @param wanted undefined: any */
function isAmong(wanted: readonly string[] | undefined, value: string): boolean {
  return wanted?.includes(value) ?? true;
}
