/**
 * One tail of the transactions topic for all sockets of this process. Each new version is decoded
 * and written as text once, for the sockets of its workspace and environment that want it.
 */
import type { Catalogue, CatalogueView } from "../../workspaces/catalogue/view.js";
import type { LogRecord, Subscription } from "../../stores/log/log.js";
import type { Service } from "../../service.js";
import type { StreamMessage } from "../../schemas/http/transactions.js";
import { type TransactionRecord, topics, transactionCodec } from "../../schemas/records/records.js";
import type { Cursors } from "../reading/cursors.js";
import { presentTransactionRecord } from "../transactions/presenter.js";

type Product = ReturnType<Catalogue["productOf"]>;

export interface Listener {
  readonly tenant: string;
  /** @param product its id; null where it could not be looked up */
  wants(record: TransactionRecord, product: string | null): boolean;
  /** Must not wait: a slow one is dropped by its owner. */
  take(text: string): void;
  /** A message could not be made: its reader must reconnect and continue from its cursor. */
  lose(): void;
}

/** Characters of messages; well below what a socket may have buffered. */
const lengthPerTurnMax = 64 * 1024;

/** By partition, the offset of the first record not seen yet. */
export type Place = readonly bigint[];

export class Hub {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #next: bigint[];
  #lengthSinceTurn = 0;

  private constructor(
    private readonly cursors: Cursors,
    private readonly catalogues: CatalogueView,
    ends: Place,
  ) {
    this.#next = [...ends];
  }

  /** @returns the hub and its tail, to be closed by the caller */
  static async open(
    service: Pick<Service, "log">,
    cursors: Cursors,
    catalogues: CatalogueView,
  ): Promise<{ hub: Hub; tail: Subscription }> {
    const hub = new Hub(cursors, catalogues, await service.log.ends(topics.transactions));
    const tail = service.log.tail(
      topics.transactions,
      (record) => hub.#deliver(record),
      new Map(hub.#next.map((offset, partition) => [partition, offset])),
    );
    return { hub, tail };
  }

  /** How far the live stream is; earlier records are read from the log. */
  get next(): Place {
    return this.#next;
  }

  /** The listener gets what lies at `next` and later. */
  join(listener: Listener): void {
    const sameTenant = this.#listeners.get(listener.tenant);
    if (sameTenant) sameTenant.add(listener);
    else this.#listeners.set(listener.tenant, new Set([listener]));
  }

  leave(listener: Listener): void {
    const sameTenant = this.#listeners.get(listener.tenant);
    sameTenant?.delete(listener);
    if (sameTenant?.size === 0) this.#listeners.delete(listener.tenant);
  }

  /** For `after` of a connection that is to begin at the place. */
  cursorAt(
    { workspace, environment }: Pick<TransactionRecord, "workspace" | "environment">,
    place: Place,
  ): string {
    return this.cursors.write(streamScope(workspace, environment), place.map(String));
  }

  /** @param after where a reader of this message continues */
  messageText(record: TransactionRecord, product: Product, after: Place): string {
    const cursor = this.cursorAt(record, after);
    const message: StreamMessage = Object.assign(presentTransactionRecord(record, product), {
      cursor,
    });
    return JSON.stringify(message);
  }

  async productOf(record: TransactionRecord): Promise<Product> {
    const { workspace, environment, provider, external_id: externalId } = record;
    const catalogue = await this.catalogues.of(workspace, environment);
    return catalogue.productOf({ provider, externalId });
  }

  async #deliver({ partition, offset, value }: LogRecord): Promise<void> {
    const record = transactionCodec.decode(value);
    const after = this.#next.with(partition, offset + 1n);
    let text: string | null = null;
    let product: Product | null = null;
    let failure: unknown = null;
    if (this.#wanting(record, null).length > 0) {
      try {
        product = await this.productOf(record);
        text = this.messageText(record, product, after);
      } catch (error) {
        failure = error;
      }
    }
    // No awaiting from here on: a subscriber that joins has read this record from the log or gets
    // it now.
    this.#next[partition] = offset + 1n;
    for (const listener of this.#wanting(record, product)) {
      if (text === null) listener.lose();
      else listener.take(text);
    }
    if (failure !== null) throw failure;
    await this.#letSocketsWrite(text?.length ?? 0);
  }

  /**
   * Data leaves the process only between two turns of the event loop: without a turn, a burst would
   * fill the buffers of the fastest readers and make them look slow.
   */
  async #letSocketsWrite(length: number): Promise<void> {
    this.#lengthSinceTurn += length;
    if (this.#lengthSinceTurn < lengthPerTurnMax) return;
    this.#lengthSinceTurn = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }

  #wanting(record: TransactionRecord, product: Product | null): Listener[] {
    const sameTenant = this.#listeners.get(tenantOf(record.workspace, record.environment)) ?? [];
    return [...sameTenant].filter((listener) => listener.wants(record, product?.id ?? null));
  }
}

export function tenantOf(workspace: string, environment: string): string {
  return `${workspace}\n${environment}`;
}

export function streamScope(workspace: string, environment: string): readonly string[] {
  return ["stream", workspace, environment];
}
