/** Messages about firings: several at a time are one message. Pure. */
import { limits } from "../../config.js";
import type { DueMessage } from "../../workspaces/alerts/firings.js";
import type { Message } from "../../workspaces/channels/message.js";
import { escapeHtml } from "../plain-page.js";

interface About {
  readonly workspace: string;
  readonly firings: readonly Pick<DueMessage, "sentence" | "link">[];
  readonly settings: string;
  /** The last one of the day: later firings are held until the next day. */
  readonly isLast: boolean;
  readonly unsubscribeUrl?: string;
}

export function alertMessage(about: About): Message {
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
