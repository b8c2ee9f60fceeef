/** Ports that fail: calls that never happen, answers that never come, consumers that stall. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import type { State } from "../../stores/state/state.js";
import { TryLater } from "../../stores/store-away.js";
import type { Skus } from "../../workspaces/catalogue/skus.js";

export const faultKinds = [
  /** The process dies: what it keeps in memory is gone. */
  "crash before",
  "crash after",
  /** The world fails: the same process tries again. */
  "failure before",
  "failure after",
  /** The consumer stops in the middle; another takes over; it wakes and goes on. */
  "stall",
] as const;
type FaultKind = (typeof faultKinds)[number];

export interface FaultPlan {
  readonly kind: FaultKind;
  /** Which call of the handler, from 0. */
  readonly call: number;
  /** A stalled consumer wakes after the next batch, or when all others are done. */
  readonly wakes: "soon" | "late";
}

export class Injected extends Error {
  override readonly name = "Injected";
}

/** One handler's run; counts the calls it makes of any port. */
export class Fault {
  /** Resolves when the consumer stands still. */
  readonly held: Promise<void>;
  hasFired = false;
  #call = -1;
  #hold: () => void = () => {};
  readonly #woken: Promise<void>;
  #wake: () => void = () => {};

  /** @param onCrash called before the process is seen to have died */
  constructor(
    readonly plan: FaultPlan | null,
    private readonly onCrash: () => void = () => {},
  ) {
    this.held = new Promise((resolve) => (this.#hold = resolve));
    this.#woken = new Promise((resolve) => (this.#wake = resolve));
  }

  wake(): void {
    this.#wake();
  }

  async around<T>(work: () => Promise<T>): Promise<T> {
    this.#call += 1;
    if (this.#call !== this.plan?.call) return work();
    this.hasFired = true;
    const { kind } = this.plan;
    if (kind === "stall") {
      this.#hold();
      await this.#woken;
      return work();
    }
    if (kind.endsWith("after")) await work();
    const what = `${kind} call ${this.#call}`;
    // To the service it is a store in trouble: another error would be held against its message.
    if (kind.startsWith("failure")) throw new Injected(what, { cause: new TryLater(what) });
    this.onCrash();
    throw new Injected(what);
  }
}

/** What stands between a handler and its ports: counts, holds up, throws. */
export type Around = <T>(work: () => Promise<T>) => Promise<T>;

/** @param behind around what no handler waits for */
export function faultyClickHouse(
  clickhouse: ClickHouse,
  around: Around,
  behind: Around,
): ClickHouse {
  return {
    ...clickhouse,
    append: (batch) => behind(() => clickhouse.append(batch)),
    rows: (sql, params) => around(() => clickhouse.rows(sql, params)),
    write: (sql, params, lane) => around(() => clickhouse.write(sql, params, lane)),
  };
}

export function faultyLog(log: Log, around: Around): Log {
  return { ...log, append: (topic, records) => around(() => log.append(topic, records)) };
}

export function faultyState(state: State, around: Around): State {
  return {
    take: async (partition) => {
      const owned = await around(() => state.take(partition));
      return {
        ...owned,
        read: (keys) => around(() => owned.read(keys)),
        commit: (commit) => around(() => owned.commit(commit)),
      };
    },
    seal: (lane, bytesMax) => state.seal(lane, bytesMax),
    remove: (batch) => state.remove(batch),
    queuedBytes: () => state.queuedBytes(),
    values: (partition) => state.values(partition),
    clear: () => state.clear(),
    close: () => state.close(),
  };
}

export function faultySkus(skus: Skus, around: Around): Skus {
  return {
    see: (names) => around(() => skus.see(names)),
    name: (named) => around(() => skus.name(named)),
    productName: (sku) => skus.productName(sku),
  };
}
