/**
 * One member of a consumer group: joins, sends heartbeats to the coordinator, and releases its
 * partitions when other members join or leave. Each assignment is a generation; Kafka refuses
 * commits of an old one, so a member that lost its partitions cannot move an offset.
 */
import kafkajs from "kafkajs";
import { limits } from "../../../config.js";
import {
  type GroupBroker,
  KafkaConnection,
  type KafkaSettings,
  coordinatorOf,
  kafkaErrorType,
} from "./connection.js";
import { pauseAfter, reportFailure } from "./permissions.js";
import { PartitionLost, firstPauseMs } from "../partition-consumer.js";
import { rest } from "../subscriptions.js";
import { type GroupName, removeSilent } from "./evict-dead-members.js";
import type { Logger } from "../../../runtime/logger.js";

const kafkaCommitEveryMs = 25;
/**
 * A member that was silent this long counts as dead. A busy machine lets a living one wait for
 * seconds, and removing it stops everybody's work; brokers accept 6 s at least.
 */
const kafkaSessionMsMax = 10_000;
const kafkaHeartbeatMs = 500;

/** How far a group is in a partition. */
export interface GroupPlace {
  /** From which it would continue after a crash. */
  readonly offset: bigint;
  /** As `Log.handled`; not before `offset`. Kafka keeps it as the metadata of the offset. */
  readonly handled: bigint;
}

export interface Work {
  /** No further batch begins; resolves when running ones have ended, committed or refused. */
  stop(): Promise<void>;
}

/** Begins to work on the partitions of a generation. */
export type Begin = (generation: Generation) => Promise<Work>;

const pauseMsMax = 2_000;
/** The member is not, or no longer, part of its generation. */
const lostTypes = new Set(["ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"]);

/** Member of the group until stopped; rejoins after any error. */
export async function beMember(
  settings: KafkaSettings,
  name: GroupName,
  begin: Begin,
  logger: Logger,
  stop: AbortSignal,
): Promise<void> {
  let memberId = "";
  let pauseMs = firstPauseMs;
  const removed = new Set<string>();
  const joinTheLiving = async (coordinator: Coordinator): Promise<Generation> => {
    const joined = new AbortController();
    void removeSilent(settings, name, removed, logger, joined.signal);
    try {
      const member = await coordinator.join(memberId);
      // Kept even if it is left out of this generation: with a new name it would be two members,
      // and the group would wait for the first.
      ({ memberId } = member);
      return await coordinator.sync(member);
    } finally {
      joined.abort();
    }
  };
  while (!stop.aborted) {
    const coordinator = new Coordinator(settings, name, logger, stop);
    try {
      // With the same coordinator as long as all is well.
      while (!stop.aborted) {
        const generation = await joinTheLiving(coordinator);
        const { partitions } = generation;
        logger.info({ groupId: name.groupId, partitions }, "in the group, with these partitions");
        await live(generation, begin, settings.rebalanceMsMax ?? limits.kafkaRebalanceMsMax, stop);
        pauseMs = firstPauseMs;
      }
    } catch (error) {
      // Otherwise it rejoins under its known name, so that the group need not wait for another.
      if (kafkaErrorType(error) === "UNKNOWN_MEMBER_ID") memberId = "";
      const attempt = { right: "Read", ...name } as const;
      if (!stop.aborted) {
        reportFailure(logger, error, attempt, "not in the group; joining it again");
      }
      await rest(pauseAfter(error, pauseMs), stop);
      pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    } finally {
      coordinator.abandon();
    }
  }
  if (memberId !== "") await new Coordinator(settings, name, logger, stop).leave(memberId);
}

/** Until the group rebalances, the generation is lost or the member is stopped. */
async function live(
  generation: Generation,
  begin: Begin,
  rebalanceMsMax: number,
  stop: AbortSignal,
): Promise<void> {
  const beating = new AbortController();
  const beats = generation.beat(beating.signal);
  const giveBack = (): void => generation.giveBack();
  stop.addEventListener("abort", giveBack);
  try {
    const work = await begin(generation);
    if (stop.aborted) giveBack();
    await generation.over;
    // The others wait for this member's partitions, but not for ever.
    const timer = setTimeout(() => generation.lose(), rebalanceMsMax);
    // While a batch outlives its generation, the member would hold a partition without working on
    // it.
    await work.stop();
    clearTimeout(timer);
  } finally {
    stop.removeEventListener("abort", giveBack);
    beating.abort();
    await beats;
  }
}

/** The partitions of a topic this member has until the group rebalances. */
export class Generation {
  giveBack = (): void => {};
  /** Resolves when the partitions are to be given back. */
  readonly over = new Promise<void>((resolve) => (this.giveBack = resolve));
  /** By partition, the newest of this generation, and those that are to be committed. */
  readonly #places = new Map<number, GroupPlace>();
  readonly #uncommitted = new Set<number>();
  #committing: Promise<void> | null = null;
  #committedAt = -Infinity;
  readonly #lost = new AbortController();
  /** When the coordinator last answered this member, by a clock that is never set. */
  #aliveAt = performance.now();

  constructor(
    private readonly coordinator: Coordinator,
    readonly memberId: string,
    private readonly id: number,
    readonly partitions: readonly number[],
  ) {}

  /** Aborted when others may have the partitions. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  lose(): void {
    this.#lost.abort();
    this.giveBack();
  }

  /**
   * Resolves when the group's offset is durable; commits of several partitions share requests.
   * @throws when the generation is lost first
   */
  async commit(partition: number, place: GroupPlace): Promise<void> {
    this.#places.set(partition, place);
    this.#uncommitted.add(partition);
    // A request under way may lack this one; then the next one has it.
    while (this.#uncommitted.has(partition)) {
      this.#committing ??= this.#commitAll().finally(() => (this.#committing = null));
      await this.#committing;
    }
    await this.#committing;
  }

  /** As `commit`, but the offset stays, or moves as far as it was asked to meanwhile. */
  announce(partition: number, { offset, handled }: GroupPlace): Promise<void> {
    const asked = this.#places.get(partition)?.offset ?? offset;
    return this.commit(partition, { offset: asked, handled });
  }

  async #commitAll(): Promise<void> {
    // Batches that end within a short time share a request.
    await rest(this.#committedAt + kafkaCommitEveryMs - performance.now(), this.lost);
    await new Promise(setImmediate);
    this.#committedAt = performance.now();
    const places = [...this.#places].filter(([partition]) => this.#uncommitted.has(partition));
    this.#uncommitted.clear();
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
      if (this.lost.aborted) throw new PartitionLost("the partitions were given to others");
      try {
        await this.coordinator.commit(this.memberId, this.id, places);
        return;
      } catch (error) {
        this.#hear(error);
        this.coordinator.reportFailure(error, "offsets were not committed; trying again");
        await rest(pauseAfter(error, pauseMs), this.lost);
      }
    }
  }

  /** Sends heartbeats until `stop`, also while the partitions are given back. */
  async beat(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await rest(kafkaHeartbeatMs, stop);
      if (stop.aborted || this.lost.aborted) return;
      try {
        await this.coordinator.heartbeat(this.memberId, this.id);
        this.#aliveAt = performance.now();
      } catch (error) {
        this.#hear(error);
      }
    }
  }

  #hear(error: unknown): void {
    const type = kafkaErrorType(error);
    if (type === "REBALANCE_IN_PROGRESS") {
      this.#aliveAt = performance.now();
      this.giveBack();
    } else if (type !== null && lostTypes.has(type)) {
      this.lose();
    } else if (performance.now() - this.#aliveAt > kafkaSessionMsMax) {
      // The coordinator was unavailable, or this process stood still: the others may have gone on.
      this.lose();
    }
  }
}

type Joined = Awaited<ReturnType<GroupBroker["joinGroup"]>>;

type Asked<T> = (broker: GroupBroker, connection: KafkaConnection) => Promise<T>;

/** Requests to the coordinator of one group, on a connection that is remade when it fails. */
class Coordinator {
  #connection: KafkaConnection | null = null;
  #broker: Promise<GroupBroker> | null = null;
  /** Slightly longer than each member gives its running batches. */
  readonly #rebalanceMs: number;

  constructor(
    private readonly settings: KafkaSettings,
    private readonly name: GroupName,
    private readonly logger: Logger,
    private readonly stop: AbortSignal,
  ) {
    const { rebalanceMsMax = limits.kafkaRebalanceMsMax } = settings;
    this.#rebalanceMs = rebalanceMsMax + limits.kafkaAnswerMsMax;
  }

  /** @param memberId empty for a new one */
  join(memberId: string): Promise<Joined> {
    const { groupId, topic } = this.name;
    return this.#whileJoining((broker, { assigner }) =>
      broker.joinGroup({
        groupId,
        memberId,
        sessionTimeout: kafkaSessionMsMax,
        rebalanceTimeout: this.#rebalanceMs,
        groupProtocols: [assigner.protocol({ topics: [topic] })],
      }),
    );
  }

  /** @throws REBALANCE_IN_PROGRESS when others joined or left since */
  sync({ generationId, memberId, leaderId, members }: Joined): Promise<Generation> {
    const { groupId, topic } = this.name;
    return this.#whileJoining(async (broker, { assigner }) => {
      const isLeader = memberId === leaderId;
      const groupAssignment = isLeader ? await assigner.assign({ members, topics: [topic] }) : [];
      const request = { groupId, generationId, memberId, groupAssignment };
      const { memberAssignment } = await broker.syncGroup(request);
      const decoded = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment);
      return new Generation(this, memberId, generationId, decoded?.assignment[topic] ?? []);
    });
  }

  /** A join may wait long for other members; a stop ends it at once. */
  async #whileJoining<T>(work: Asked<T>): Promise<T> {
    const giveUp = (): void => this.abandon();
    this.stop.addEventListener("abort", giveUp);
    try {
      return await this.#ask(this.#rebalanceMs + limits.kafkaAnswerMsMax, async (...asked) => {
        if (this.stop.aborted) throw new Error("stopped while joining");
        return work(...asked);
      });
    } finally {
      this.stop.removeEventListener("abort", giveUp);
    }
  }

  heartbeat(memberId: string, groupGenerationId: number): Promise<unknown> {
    const { groupId } = this.name;
    return this.#ask(limits.kafkaAnswerMsMax, (broker) =>
      broker.heartbeat({ groupId, groupGenerationId, memberId }),
    );
  }

  async commit(
    memberId: string,
    groupGenerationId: number,
    places: readonly (readonly [partition: number, GroupPlace])[],
  ): Promise<void> {
    const { groupId, topic } = this.name;
    const partitions = places.map(([partition, { offset, handled }]) => ({
      partition,
      offset: offset.toString(),
      metadata: handled.toString(),
    }));
    await this.#ask(limits.kafkaAnswerMsMax, (broker) =>
      broker.offsetCommit({
        groupId,
        groupGenerationId,
        memberId,
        topics: [{ topic, partitions }],
      }),
    );
  }

  /** So that the others need not wait for the end of its session. */
  async leave(memberId: string): Promise<void> {
    const { groupId } = this.name;
    try {
      const { kafkaAnswerMsMax } = limits;
      await this.#ask(kafkaAnswerMsMax, (broker) => broker.leaveGroup({ groupId, memberId }));
    } catch {
      // Kafka is unavailable, or has forgotten the member.
    } finally {
      this.abandon();
    }
  }

  reportFailure(error: unknown, otherwise: string): void {
    reportFailure(this.logger, error, { right: "Read", ...this.name }, otherwise);
  }

  abandon(): void {
    this.#connection?.abandon();
    this.#connection = null;
    this.#broker = null;
  }

  async #ask<T>(msMax: number, work: Asked<T>): Promise<T> {
    this.#connection ??= new KafkaConnection(this.settings, this.logger);
    const connection = this.#connection;
    try {
      return await connection.within(msMax, async () => {
        this.#broker ??= findCoordinator(connection, this.name);
        return work(await this.#broker, connection);
      });
    } catch (error) {
      // An answer of the group says nothing about the connection.
      const type = kafkaErrorType(error) ?? "";
      if (type !== "REBALANCE_IN_PROGRESS" && !lostTypes.has(type)) {
        if (this.#connection === connection) this.abandon();
      }
      throw error;
    }
  }
}

async function findCoordinator(connection: KafkaConnection, name: GroupName): Promise<GroupBroker> {
  const cluster = await connection.ready(name.topic);
  return coordinatorOf(cluster, name.groupId);
}
