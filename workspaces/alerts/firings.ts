/** Firings of alerts, and one row for each message that a firing becomes. */
import { limits } from "../../config.js";
import type { AlertChannel, QuietHours } from "../../schemas/http/outbound/alerts.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { type ListPage, newestFirst } from "../list-page.js";

export interface FoundFiring {
  readonly at: Date;
  readonly value: number;
  readonly sentence: string;
  readonly link: string;
  readonly endedAt: Date | null;
}

export interface FiringRecord extends Omit<FoundFiring, "endedAt"> {
  readonly id: string;
  readonly alert: string;
  readonly ended_at: Date | null;
  readonly created_at: Date;
}

/** In one transaction with the alert's row, so that no firing lacks its messages. */
export async function insertFirings(
  sql: Sql,
  alert: {
    readonly id: string;
    readonly workspace: string;
    readonly channels: readonly AlertChannel[];
  },
  firings: readonly FoundFiring[],
  now: Date,
): Promise<void> {
  const { id, workspace } = alert;
  for (const { endedAt, ...found } of firings) {
    const firing = `fir_${randomBase62(20)}`;
    const row = { id: firing, alert: id, workspace, ...found, ended_at: endedAt, created_at: now };
    await insertRow(sql, "alert_firings", row);
    for (const channel of alert.channels) {
      await insertRow(sql, "alert_messages", {
        id: `msg_${randomBase62(20)}`,
        firing,
        workspace,
        channel: channelText(channel),
        state: "waiting",
        // Firings found meanwhile, by other processes, too, go into the same message.
        due_at: new Date(now.getTime() + limits.alertGatherMs),
      });
    }
  }
  if (firings.length === 0) return;
  await sql.query(
    `DELETE FROM alert_firings WHERE alert = $1 AND id NOT IN (
       SELECT id FROM alert_firings WHERE alert = $1 ORDER BY created_at DESC, id DESC LIMIT $2)`,
    [id, limits.alertFiringsKeptMax],
  );
}

export async function endFirings(sql: Sql, alert: string, at: Date): Promise<void> {
  const update = "UPDATE alert_firings SET ended_at = $2 WHERE alert = $1 AND ended_at IS NULL";
  await sql.query(update, [alert, at]);
}

export function listFirings(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<FiringRecord[]> {
  const select = `SELECT id, alert, at, value, sentence, link, ended_at, created_at
    FROM alert_firings WHERE workspace = $4`;
  return newestFirst<FiringRecord>(postgres, page, select, [workspace]);
}

export interface MessageRecord {
  readonly id: string;
  readonly firing: string;
  readonly workspace: string;
  readonly channel: string;
  readonly state: "waiting" | "sent" | "given_up";
  readonly due_at: Date;
  readonly tries: number;
  readonly problem: string | null;
  readonly sent_at: Date | null;
}

export function messagesOf(
  postgres: Postgres,
  firings: readonly string[],
): Promise<MessageRecord[]> {
  const select = "SELECT * FROM alert_messages WHERE firing = ANY($1) ORDER BY id";
  return postgres.query<MessageRecord>(select, [firings]);
}

/** By alert: why the last try of an unsent message failed. */
export async function messageProblems(
  postgres: Postgres,
  alerts: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await postgres.query<{ readonly alert: string; readonly problem: string }>(
    `SELECT DISTINCT ON (f.alert) f.alert, m.problem
     FROM alert_firings f JOIN alert_messages m ON m.firing = f.id
     WHERE f.alert = ANY($1) AND m.state <> 'sent' AND m.problem IS NOT NULL
     ORDER BY f.alert, f.created_at DESC, m.id`,
    [alerts],
  );
  return new Map(rows.map(({ alert, problem }) => [alert, problem]));
}

export interface DueMessage
  extends
    Pick<MessageRecord, "id" | "workspace" | "channel" | "due_at" | "tries">,
    Pick<FoundFiring, "sentence" | "link"> {
  readonly quiet: QuietHours;
  readonly origin: string;
}

/** Oldest first. */
export function dueMessages(postgres: Postgres, now: Date): Promise<DueMessage[]> {
  return postgres.query<DueMessage>(
    `SELECT m.id, m.workspace, m.channel, m.due_at, m.tries, f.sentence, f.link, a.quiet, a.origin
     FROM alert_messages m JOIN alert_firings f ON f.id = m.firing JOIN alerts a ON a.id = f.alert
     WHERE m.state = 'waiting' AND m.due_at <= $1
     ORDER BY f.created_at, m.id LIMIT $2`,
    [now, limits.alertMessagesAtOnceMax],
  );
}

export async function holdMessages(
  postgres: Postgres,
  ids: readonly string[],
  until: Date,
): Promise<void> {
  const update = "UPDATE alert_messages SET due_at = $2 WHERE id = ANY($1) AND state = 'waiting'";
  await durably(postgres, update, [ids, until]);
}

export async function endMessages(
  sql: Sql,
  workspace: string,
  channel: AlertChannel,
): Promise<void> {
  await sql.query(
    `UPDATE alert_messages SET state = 'given_up', problem = 'The receiver unsubscribed.'
     WHERE workspace = $1 AND channel = $2 AND state = 'waiting'`,
    [workspace, channelText(channel)],
  );
}

/** Counts messages, however many firings each was about. */
export async function sentSince(
  postgres: Postgres,
  workspace: string,
  channel: string,
  since: Date,
): Promise<number> {
  const [row] = await postgres.query<{ readonly sent: number }>(
    `SELECT count(DISTINCT sent_in)::int AS sent FROM alert_messages
     WHERE workspace = $1 AND channel = $2 AND sent_at >= $3`,
    [workspace, channel, since],
  );
  return row?.sent ?? 0;
}

/** 1 minute, then 3, 9, 27, …: the last try is 18 hours after the first. */
const pauseGrowth = 3;

/**
 * Moves messages to the time of the next try, so that only one process sends each.
 * @param message the id of what they are sent in
 * @returns those that no other process has
 */
export async function claimMessages(
  postgres: Postgres,
  ids: readonly string[],
  message: string,
  now: Date,
): Promise<MessageRecord[]> {
  return durably<MessageRecord>(
    postgres,
    `UPDATE alert_messages SET sent_in = $2, tries = tries + 1,
       due_at = $3::timestamptz + $4 * power($5, tries) * interval '1 millisecond'
     WHERE id = ANY($1) AND state = 'waiting' AND due_at <= $3 RETURNING *`,
    [ids, message, now, limits.alertRetryMs, pauseGrowth],
  );
}

export async function noteSent(postgres: Postgres, message: string, now: Date): Promise<void> {
  const update = `UPDATE alert_messages SET state = 'sent', sent_at = $2, problem = NULL
    WHERE sent_in = $1`;
  await durably(postgres, update, [message, now]);
}

/**
 * @param isFinal no other try would help
 * @returns ids of those given up
 */
export async function noteFailed(
  postgres: Postgres,
  message: string,
  problem: string,
  isFinal: boolean,
): Promise<string[]> {
  const rows = await durably<{ readonly id: string; readonly state: string }>(
    postgres,
    `UPDATE alert_messages SET problem = $2,
       state = CASE WHEN $3 OR tries >= $4 THEN 'given_up' ELSE 'waiting' END
     WHERE sent_in = $1 RETURNING id, state`,
    [message, problem, isFinal, limits.alertTriesMax],
  );
  return rows.flatMap(({ id, state }) => (state === "given_up" ? [id] : []));
}

function channelText(channel: AlertChannel): string {
  return channel.by === "chat" ? "chat" : `email ${channel.member}`;
}

export function channelOf(text: string): AlertChannel {
  const [by, member = ""] = text.split(" ");
  return by === "email" ? { by, member } : { by: "chat" };
}
