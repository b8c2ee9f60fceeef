/**
 * Turns firings into messages: held in quiet hours and beyond the daily limit, gathered by
 * receiver, claimed, sent, and tried again. At least once: if a process is killed before it notes a
 * receiver's answer, the message is sent once more.
 */
import { limits } from "../../config.js";
import { grouped } from "../../runtime/lists.js";
import type { Service } from "../../service.js";
import { randomBase62 } from "../../stores/vault/random.js";
import {
  channelOf,
  claimMessages,
  type DueMessage,
  dueMessages,
  holdMessages,
  noteFailed,
  noteSent,
  sentSince,
} from "../../workspaces/alerts/firings.js";
import { chatUrlOf, sendChat } from "../../workspaces/channels/chat.js";
import { sendEmail } from "../../workspaces/channels/email.js";
import { type Message, NotDelivered } from "../../workspaces/channels/message.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { findMember } from "../../workspaces/members/memberships.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import type { Unsubscribing } from "../digests/unsubscribe.js";
import { dayMs, startOfDay } from "../reading/calendar.js";
import { quietUntil } from "./quiet.js";
import { escapeHtml } from "../plain-page.js";

interface Delivering extends Pick<Service, "config" | "logger" | "metrics" | "postgres" | "vault"> {
  readonly unsubscribing: Unsubscribing;
}

/** Waiting cannot help: the receiver is gone. */
class NobodyThere extends NotDelivered {}

/**
 * Sends all that is due now.
 * @returns whether anything was
 */
export async function deliver(
  service: Delivering,
  now: Date,
  stopping: AbortSignal,
): Promise<boolean> {
  const due = await dueMessages(service.postgres, now);
  const awake: DueMessage[] = [];
  for (const message of due) {
    const until = quietUntil(message.quiet, now.getTime());
    if (until === null) awake.push(message);
    else await holdMessages(service.postgres, [message.id], new Date(until));
  }
  const byReceiver = grouped(awake, ({ workspace, channel }) => `${workspace} ${channel}`);
  const receivers = [...byReceiver.values()];
  // In small groups, so that a slow receiver delays few others.
  for (let from = 0; from < receivers.length; from += limits.digestsAtOnceMax) {
    const some = receivers.slice(from, from + limits.digestsAtOnceMax);
    await Promise.all(some.map((messages) => deliverTo(service, messages, now, stopping)));
  }
  return due.length > 0;
}

/** @param due all to one receiver, at least one */
async function deliverTo(
  service: Delivering,
  due: readonly DueMessage[],
  now: Date,
  stopping: AbortSignal,
): Promise<void> {
  const { postgres, logger, metrics } = service;
  const [first] = due;
  if (first === undefined) return;
  const { workspace, channel } = first;
  const ids = due.map(({ id }) => id);
  const today = startOfDay(now.getTime());
  const sent = await sentSince(postgres, workspace, channel, new Date(today));
  if (sent >= limits.alertMessagesPerDayMax) {
    return holdMessages(postgres, ids, new Date(today + dayMs));
  }
  const message = `sen_${randomBase62(20)}`;
  const claimed = await claimMessages(postgres, ids, message, now);
  const own = due.filter(({ id }) => claimed.some((row) => row.id === id));
  if (own.length === 0) return;
  const { by } = channelOf(channel);
  try {
    await send(service, own, sent + 1 === limits.alertMessagesPerDayMax, stopping);
  } catch (err) {
    if (stopping.aborted) return;
    metrics.alertMessages.inc({ channel: by, outcome: "failed" });
    logger.warn({ err, message, workspace, channel: by }, "an alert could not be sent");
    const problem = err instanceof NotDelivered ? err.message : "The service failed; see its log.";
    const ended = await noteFailed(postgres, message, problem, err instanceof NobodyThere);
    if (ended.length === 0) return;
    const done = { workspace, actor: "alerts", action: "alert.failed", requestId: message };
    await recordActivity(postgres, { ...done, object: ended[0] ?? message }, now);
    return;
  }
  metrics.alertMessages.inc({ channel: by, outcome: "sent" });
  await noteSent(postgres, message, now);
}

async function send(
  { config, postgres, vault, unsubscribing }: Delivering,
  messages: readonly DueMessage[],
  isLast: boolean,
  stopping: AbortSignal,
): Promise<void> {
  const [{ workspace, channel, origin } = { workspace: "", channel: "", origin: "" }] = messages;
  const name = (await findWorkspace(postgres, workspace))?.name ?? workspace;
  const settings = `${origin}/settings/alerts?workspace=${workspace}`;
  const about = { workspace: name, firings: messages, settings, isLast };
  const to = channelOf(channel);
  if (to.by === "chat") {
    const url = await chatUrlOf(postgres, vault, workspace);
    if (url === null) throw new NobodyThere("The workspace has no chat channel any more.");
    return sendChat(config, url, alertMessage(about), stopping);
  }
  const member = await findMember(postgres, vault, workspace, to.member);
  if (member === null) throw new NobodyThere("The receiver is no longer a member.");
  if (member.email === null) throw new NotDelivered("The member's e-mail address is not known.");
  const unsubscribeUrl = unsubscribing.alertsUrlOf(workspace, to.member, origin);
  await sendEmail(config, member.email, alertMessage({ ...about, unsubscribeUrl }));
}

interface About {
  readonly workspace: string;
  readonly firings: readonly Pick<DueMessage, "sentence" | "link">[];
  readonly settings: string;
  /** The last one of the day: later firings are held until the next day. */
  readonly isLast: boolean;
  readonly unsubscribeUrl?: string;
}

/** Several firings at a time are one message. */
function alertMessage(about: About): Message {
  const { workspace, firings, settings, isLast, unsubscribeUrl } = about;
  const name = workspace.replaceAll(/\s+/g, " ");
  const [first] = firings;
  const subject =
    firings.length === 1 && first !== undefined
      ? `${name}: ${first.sentence}`
      : `${name}: ${firings.length} alerts`;
  const shown = firings.slice(0, limits.alertFiringsListedMax);
  const more = firings.length - shown.length;
  const notes = [
    ...(more === 0 ? [] : [`And ${more} more.`]),
    ...(isLast
      ? [
          `This is message ${limits.alertMessagesPerDayMax} today: ` +
            "what fires from now on comes in one tomorrow.",
        ]
      : []),
  ];
  const text = [
    ...shown.map(({ sentence, link }) => `${sentence}\n${link}\n`),
    ...notes.map((note) => `${note}\n`),
    `All alerts: ${settings}`,
    ...(unsubscribeUrl === undefined ? [] : ["", `No more of these: ${unsubscribeUrl}`]),
    "",
  ];
  const rows = shown.map(
    ({ sentence, link }) => `<li><a href="${escapeHtml(link)}">${escapeHtml(sentence)}</a></li>`,
  );
  const html = [
    `<ul>${rows.join("")}</ul>`,
    ...notes.map((note) => `<p>${note}</p>`),
    `<p><a href="${escapeHtml(settings)}">All alerts</a></p>`,
    ...(unsubscribeUrl === undefined
      ? []
      : [`<p><a href="${escapeHtml(unsubscribeUrl)}">No more of these</a></p>`]),
  ];
  const message = { subject, text: text.join("\n"), html: html.join("\n") };
  return unsubscribeUrl === undefined ? message : { ...message, unsubscribeUrl };
}
