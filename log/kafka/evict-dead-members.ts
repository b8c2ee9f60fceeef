/**
 * Members whose process is dead. Kafka waits for one until its session is over, 6 s at least as
 * brokers are delivered, and gives nobody its partitions meanwhile. Processes notice each
 * other's silence earlier (shared-watermark.ts), so a process that waits to join removes the silent
 * ones from the group.
 *
 * To Kafka that is no different from the end of a session: one that lives after all can commit
 * nothing any more and joins again.
 */
import { limits } from "../../config.js";
import { KafkaConnection, type KafkaSettings, clientIdOf, coordinatorOf } from "./connection.js";
import { rest } from "../subscriptions.js";
import type { Logger } from "../../runtime/logger.js";

/** How a group of a topic is called at the broker. */
export interface GroupName {
  readonly groupId: string;
  /** On Kafka. */
  readonly topic: string;
}

const lookEveryMs = 200;

/** Looks for them until this member has joined. What fails is left to the session's end. */
export async function removeSilent(
  settings: KafkaSettings,
  name: GroupName,
  logger: Logger,
  joined: AbortSignal,
): Promise<void> {
  const { processes } = settings;
  if (processes === undefined) return;
  while (!joined.aborted) {
    await rest(lookEveryMs, joined);
    if (joined.aborted) return;
    try {
      const silent = await processes.silent();
      if (silent.size > 0) await removeAll(settings, name, silent, logger);
    } catch (error) {
      logger.debug({ err: error, groupId: name.groupId }, "members could not be read");
    }
  }
}

async function removeAll(
  settings: KafkaSettings,
  { groupId, topic }: GroupName,
  silent: ReadonlySet<string>,
  logger: Logger,
): Promise<void> {
  const clientIds = new Set(Array.from(silent, clientIdOf));
  // The connection that joins is deaf until it has joined.
  const connection = new KafkaConnection(settings, logger);
  try {
    await connection.within(limits.kafkaAnswerMsMax, async () => {
      const broker = await coordinatorOf(await connection.ready(topic), groupId);
      const { groups }: GroupsAnswer = await broker.describeGroups({ groupIds: [groupId] });
      for (const { state, members } of groups) {
        // Before this member is in, a group that loses its last one begins anew, after a delay.
        if (state !== "PreparingRebalance") continue;
        for (const { memberId, clientId } of members) {
          if (!clientIds.has(clientId)) continue;
          await broker.leaveGroup({ groupId, memberId });
          logger.info({ groupId, memberId }, "a member whose process is silent was removed");
        }
      }
    });
  } finally {
    connection.abandon();
  }
}

interface GroupsAnswer {
  readonly groups: readonly {
    readonly state: string;
    readonly members: readonly { readonly memberId: string; readonly clientId: string }[];
  }[];
}
