/**
 * Members whose process is dead. Kafka waits for one until its session is over, and gives nobody
 * its partitions meanwhile. Processes notice each other's silence earlier (shared-watermark.ts), so
 * a process that waits to join removes the silent ones from the group.
 *
 * To Kafka that is no different from the end of a session: one that lives after all can commit
 * nothing any more, loses the batches it works on, and joins again. On a machine that is too busy,
 * two slow processes would remove each other again and again, and book nothing. So one that has
 * come back to the group is not removed a second time before it was heard.
 */
import { limits } from "../../../config.js";
import { KafkaConnection, type KafkaSettings, clientIdOf, coordinatorOf } from "./connection.js";
import { rest } from "../subscriptions.js";
import type { Logger } from "../../../runtime/logger.js";

/** The name of a topic's group at the broker. */
export interface GroupName {
  readonly groupId: string;
  readonly topic: string;
}

const lookEveryMs = 200;

/**
 * Looks for them until this member has joined. After a failure the end of the session must do.
 * @param removed processes whose members this one has removed, kept from one joining to the next
 */
export async function removeSilent(
  settings: KafkaSettings,
  name: GroupName,
  removed: Set<string>,
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
      for (const process of removed) if (!silent.has(process)) removed.delete(process);
      const unremoved = [...silent].filter((process) => !removed.has(process));
      if (unremoved.length === 0) continue;
      const found = await removeAll(settings, name, unremoved, logger);
      for (const process of found) removed.add(process);
    } catch (error) {
      logger.debug({ err: error, groupId: name.groupId }, "members could not be read");
    }
  }
}

/** @returns those that had members */
async function removeAll(
  settings: KafkaSettings,
  { groupId, topic }: GroupName,
  silent: readonly string[],
  logger: Logger,
): Promise<ReadonlySet<string>> {
  const processes = new Map(silent.map((process) => [clientIdOf(process), process]));
  const found = new Set<string>();
  // The connection that joins is blocked until it has joined.
  const connection = new KafkaConnection(settings, logger);
  try {
    await connection.within(limits.kafkaAnswerMsMax, async () => {
      const broker = await coordinatorOf(await connection.ready(topic), groupId);
      const { groups }: GroupsAnswer = await broker.describeGroups({ groupIds: [groupId] });
      for (const { state, members } of groups) {
        // A group that loses its last member before this one has joined begins anew, after a delay.
        if (state !== "PreparingRebalance") continue;
        for (const { memberId, clientId } of members) {
          const process = processes.get(clientId);
          if (process === undefined) continue;
          found.add(process);
          await broker.leaveGroup({ groupId, memberId });
          logger.info({ groupId, memberId }, "a member whose process is silent was removed");
        }
      }
    });
  } finally {
    connection.abandon();
  }
  return found;
}

interface GroupsAnswer {
  readonly groups: readonly {
    readonly state: string;
    readonly members: readonly { readonly memberId: string; readonly clientId: string }[];
  }[];
}
