/** Chat programs that take Slack's incoming webhooks, as Mattermost, Rocket.Chat and Zulip do. */
import type { Config } from "../../config.js";
import type { Message } from "./message.js";
import { post } from "./outbound.js";

/** Slack accepts no longer blocks, and no more of them. */
const blockLengthMax = 3_000;
const blocksMax = 50;

/** @throws NotDelivered unless the receiver accepted it */
export async function sendChat(
  config: Config,
  url: string,
  { subject, text }: Pick<Message, "subject" | "text">,
  stopping: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({
    text: escaped(subject),
    blocks: [`*${escaped(subject)}*`, ...blocksOf(escaped(text.trim()))]
      .slice(0, blocksMax)
      .map((part) => ({ type: "section", text: { type: "mrkdwn", text: part } })),
  });
  await post(config, url, { headers: { "content-type": "application/json" }, body }, stopping);
}

/** Escapes text, so that names in it do not become mentions or markup. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const longer = last === undefined ? line : `${last}\n${line}`;
    if (last !== undefined && longer.length <= blockLengthMax) blocks[blocks.length - 1] = longer;
    else blocks.push(line.slice(0, blockLengthMax));
  }
  return blocks.filter((block) => block.trim() !== "");
}
