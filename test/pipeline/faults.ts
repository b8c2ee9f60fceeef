/** Ports that fail: calls that never happen, answers that never come, processes that stall. */
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
  /** The process stands still; another takes over; it wakes and goes on. */
  "stall",
] as const;
type FaultKind = (typeof faultKinds)[number];

export interface FaultPlan {
  readonly kind: FaultKind;
  /** Which call, from 0. */
  readonly call: number;
  /** A stalled process wakes after the next batch, or when all others are done. */
  readonly wakes: "soon" | "late";
}

export class Injected extends Error {
  override readonly name = "Injected";
}

/** What a fault does to the process that it strikes. */
export interface Struck {
  readonly die: () => void;
  /** Resolves when it goes on. */
  readonly standStill: () => Promise<void>;
}

/** Strikes one of the calls of any port that a process makes while it has the fault. */
export class Fault {
  hasFired = false;
  #call = -1;

  constructor(
    readonly plan: FaultPlan | null,
    private readonly struck: Struck = { die: () => {}, standStill: async () => {} },
  ) {}

  async around<T>(work: () => Promise<T>): Promise<T> {
    this.#call += 1;
    if (this.#call !== this.plan?.call) return work();
    this.hasFired = true;
    const { kind } = this.plan;
    if (kind === "stall") {
      await this.struck.standStill();
      return work();
    }
    if (kind.endsWith("after")) await work();
    const what = `${kind} call ${this.#call}`;
    // To the service it is a store in trouble: another error would be held against its message.
    if (kind.startsWith("failure")) throw new Injected(what, { cause: new TryLater(what) });
    this.struck.die();
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

export function faultyState(state: State, around: Around, behind: Around): State {
  return {
    take: async (partition) => {
      const owned = await around(() => state.take(partition));
      return {
        ...owned,
        unpublished: () => around(() => owned.unpublished()),
        isHeld: () => behind(() => owned.isHeld()),
        read: (keys) => around(() => owned.read(keys)),
        commit: (commit) => around(() => owned.commit(commit)),
      };
    },
    seal: (lane, bytesMax) => behind(() => state.seal(lane, bytesMax)),
    remove: (batch) => behind(() => state.remove(batch)),
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
