/** Tails on Kafka: what is appended from the call on, one record at a time, without a group. */
import type { KafkaSettings } from "./connection.js";
import { type Fetched, type Follower, type NamedTopic, followPartitions } from "./fetch.js";
import { Arrivals, follow, giveTail, rest, tailRecordsMax } from "../subscriptions.js";
import type { LogRecord, Subscription } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";

export interface KafkaTail extends Subscription {
  /** Resolves when it knows where it begins, or is closed. */
  readonly placed: Promise<void>;
}

/** @param ends asks where the partitions end; repeated until there is an answer */
export function tailTopic(
  settings: KafkaSettings,
  named: NamedTopic,
  handle: (record: LogRecord) => void | Promise<void>,
  from: ReadonlyMap<number, bigint>,
  ends: () => Promise<bigint[]>,
  logger: Logger,
): KafkaTail {
  let place = (): void => {};
  const placed = new Promise<void>((resolve) => (place = resolve));
  const running = follow(async (stop) => {
    const starts = await whenKnown(ends, logger, stop);
    place();
    const [room, news] = [new Arrivals(), new Arrivals()];
    const followers = starts.map(
      (end, number) => new TailPlace(number, from.get(number) ?? end, news, room),
    );
    const fetching = followPartitions(settings, { named, followers, room }, logger, stop);
    const take = followers.map((one) => () => one.give());
    await giveTail(take, news, handle, logger, stop);
    await fetching;
  });
  return {
    placed,
    close: () => {
      place();
      return running.close();
    },
  };
}

async function whenKnown(
  ends: () => Promise<bigint[]>,
  logger: Logger,
  stop: AbortSignal,
): Promise<bigint[]> {
  while (!stop.aborted) {
    try {
      return await ends();
    } catch (error) {
      logger.warn({ err: error }, "a tail cannot start yet");
      await rest(1_000, stop);
    }
  }
  return [];
}

class TailPlace implements Follower {
  #records: LogRecord[] = [];

  constructor(
    readonly number: number,
    private next: bigint,
    private readonly news: Arrivals,
    private readonly room: Arrivals,
  ) {}

  give(): LogRecord[] {
    const records = this.#records;
    this.#records = [];
    if (records.length > 0) this.room.announce();
    return records;
  }

  wanted(): bigint | null {
    return this.#records.length >= tailRecordsMax ? null : this.next;
  }

  take(asked: bigint, { records, next }: Fetched): void {
    if (asked !== this.next) return;
    for (const one of records) this.#records.push(one);
    this.next = next;
    this.news.announce();
  }

  /** A tail promises nothing about what retention has removed. */
  outOfRange(_asked: bigint, earliest: bigint): void {
    this.next = earliest;
  }
}
