/**
 * Which broker leads each partition, as kafkajs' producer knows it.
 *
 * A send of kafkajs to several brokers forgets what some of them stored when another fails, and
 * numbers it anew when it is sent again; Kafka would store it twice then. So a send goes to one
 * broker, and fails before its next try when its partitions no longer have one leader.
 */
import type { Message, PartitionerArgs } from "kafkajs";
import { grouped } from "../../../runtime/lists.js";

export class Leaders {
  readonly #leaders = new Map<number, number>();
  /** The partitions of the send that begins with a message. */
  readonly #together = new WeakMap<object, readonly number[]>();

  /**
   * Groups with one leader each. Partitions without a known leader are one group, refused if wrong.
   */
  group(partitions: readonly number[]): number[][] {
    return [...grouped(partitions, (partition) => this.#leaders.get(partition)).values()];
  }

  /** @returns the messages of all `partitions`, sent together or not at all */
  onlyTogether(partitions: readonly (readonly Message[])[]): Message[] {
    const [head, ...rest] = partitions.flat();
    if (head === undefined) return rest;
    this.#together.set(
      head,
      partitions.map(([first]) => first?.partition ?? 0),
    );
    return [head, ...rest];
  }

  /**
   * kafkajs asks for each message of each try.
   * @throws LeadersDiffer
   */
  partitionOf({ message, partitionMetadata }: PartitionerArgs): number {
    const together = this.#together.get(message);
    if (together !== undefined) {
      for (const { partitionId, leader } of partitionMetadata) {
        this.#leaders.set(partitionId, leader);
      }
      const leaders = new Set(together.map((partition) => this.#leaders.get(partition)));
      if (leaders.size > 1) throw new LeadersDiffer();
    }
    return message.partition ?? 0;
  }
}

export class LeadersDiffer extends Error {
  constructor() {
    super("the partitions of a send have several leaders");
  }
}
