/**
 * What a consumer group has still to handle of a topic, by receipt time, of all workspaces or of
 * one. Each record is looked at once, however often it is asked for, so asking costs little even
 * far behind.
 */
import { AskedTogether } from "../../runtime/batch-loader.js";
import type { Topic } from "../../schemas/records/records.js";
import type { Log, LogRecord } from "../log/log.js";

export type ReadableLog = Pick<Log, "committed" | "ends" | "handled" | "read">;

/** What is known of a record before it is handled. */
export interface Waits {
  /** ms since 1970; Infinity: nobody waits for it */
  readonly receivedAt: number;
  /** Set where the record holds up only its own workspace. */
  readonly workspace?: string;
}

/** Records a group has still to pass, of all partitions. */
export async function recordsBehind(
  log: ReadableLog,
  topic: Topic,
  group: string,
  passed: "committed" | "handled",
): Promise<number> {
  // In this order, as in a look of a backlog.
  const offsets = await log[passed](topic, group);
  const ends = await log.ends(topic);
  return ends.reduce((sum, end, partition) => sum + Number(end - (offsets[partition] ?? 0n)), 0);
}

/** Records read at a time; in between, other work gets its turn. */
const recordsAtOnce = 1_000;

export class Backlog {
  readonly #partitions: Waiting[] = [];
  /** Whoever asks during a look shares the next one: the running one may have begun too early. */
  readonly #looks = new AskedTogether<null, void>(Number.POSITIVE_INFINITY, async () => {
    await this.#look();
    return () => undefined;
  });

  /** @param passed the offset of the group before which records do not wait any more */
  constructor(
    private readonly log: ReadableLog,
    private readonly topic: Topic,
    private readonly group: string,
    private readonly waits: (record: LogRecord) => Waits,
    private readonly passed: "committed" | "handled" = "committed",
  ) {}

  /**
   * ms since 1970; Infinity when nothing waits. It may include what a later look has found, which
   * is as true.
   * @param workspace only what holds up this one; left out: all
   */
  async earliestWaiting(workspace?: string): Promise<number> {
    await this.#looks.ask(null);
    return Math.min(Infinity, ...this.#partitions.map((waiting) => waiting.earliest(workspace)));
  }

  async #look(): Promise<void> {
    // In this order, what other processes append and handle meanwhile is seen as waiting.
    const offsets = await this.log[this.passed](this.topic, this.group);
    const ends = await this.log.ends(this.topic);
    for (const [partition, handled] of offsets.entries()) {
      const known = this.#partitions[partition];
      // A group that was set back waits anew.
      const waiting = known === undefined || handled < known.handled ? new Waiting() : known;
      waiting.forget(handled);
      for (let end = ends[partition] ?? 0n; waiting.next < end;) {
        const records = await this.log.read(this.topic, partition, waiting.next, recordsAtOnce);
        // Retention may have removed what was not handled; then nothing waits.
        if (records.length === 0) break;
        for (const record of records) waiting.add(record.offset, this.waits(record));
      }
      this.#partitions[partition] = waiting;
    }
  }
}

class Waiting {
  next = 0n;
  handled = 0n;
  readonly #ofAll = new ReceiptTimes();
  readonly #ofOne = new Map<string, ReceiptTimes>();

  add(offset: bigint, { receivedAt, workspace }: Waits): void {
    this.#timesOf(workspace).add(offset, receivedAt);
    this.next = offset + 1n;
  }

  #timesOf(workspace: string | undefined): ReceiptTimes {
    if (workspace === undefined) return this.#ofAll;
    const known = this.#ofOne.get(workspace);
    if (known !== undefined) return known;
    const times = new ReceiptTimes();
    this.#ofOne.set(workspace, times);
    return times;
  }

  forget(handled: bigint): void {
    this.handled = handled;
    this.#ofAll.forget(handled);
    for (const [workspace, times] of this.#ofOne) {
      times.forget(handled);
      if (times.isEmpty) this.#ofOne.delete(workspace);
    }
    if (this.next < handled) this.next = handled;
  }

  earliest(workspace?: string): number {
    if (workspace !== undefined) {
      const own = this.#ofOne.get(workspace)?.earliest ?? Number.POSITIVE_INFINITY;
      return Math.min(this.#ofAll.earliest, own);
    }
    let earliest = this.#ofAll.earliest;
    for (const times of this.#ofOne.values()) earliest = Math.min(earliest, times.earliest);
    return earliest;
  }
}

/**
 * Receipt times as a queue whose front is the earliest. Records lie nearly, but not exactly, in
 * order of receipt: one with an earlier receipt behind it can never be the earliest again.
 */
class ReceiptTimes {
  #front = 0;
  #queue: { readonly offset: bigint; readonly receivedAt: number }[] = [];

  add(offset: bigint, receivedAt: number): void {
    let last = this.#queue.at(-1);
    while (last && this.#queue.length > this.#front && last.receivedAt >= receivedAt) {
      this.#queue.pop();
      last = this.#queue.at(-1);
    }
    this.#queue.push({ offset, receivedAt });
  }

  forget(handled: bigint): void {
    while ((this.#queue[this.#front]?.offset ?? handled) < handled) this.#front += 1;
    if (this.#front > compactAfter) {
      this.#queue = this.#queue.slice(this.#front);
      this.#front = 0;
    }
  }

  get isEmpty(): boolean {
    return this.#front === this.#queue.length;
  }

  get earliest(): number {
    return this.#queue[this.#front]?.receivedAt ?? Number.POSITIVE_INFINITY;
  }
}

const compactAfter = 10_000;
