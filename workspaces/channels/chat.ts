/** Chat programs that take Slack's incoming webhooks, as Mattermost, Rocket.Chat and Zulip do. */
import type { Config } from "../../config.js";
import type { Message } from "./message.js";
import { post } from "./outbound.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import type { Vault } from "../../stores/vault/vault.js";

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

// The channel of a workspace: its URL is a secret, stored sealed.

export interface ChatChannel {
  readonly id: string;
  readonly host: string;
  readonly created_at: Date;
}

export function boundToChat(id: string): Buffer {
  return Buffer.from(`chat:${id}:url`);
}

/** Replaces the one before. */
export async function setChatChannel(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  url: string,
  now: Date,
): Promise<ChatChannel> {
  const id = `cha_${randomBase62(20)}`;
  const made = { id, host: new URL(url).host, created_at: now };
  await postgres.transaction(async (sql) => {
    await sql.query("SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE", [workspace]);
    await sql.query("DELETE FROM chat_channels WHERE workspace = $1", [workspace]);
    const url_sealed = vault.seal(Buffer.from(url), boundToChat(id));
    await insertRow(sql, "chat_channels", { ...made, workspace, url_sealed });
  });
  return made;
}

export async function chatChannelOf(
  postgres: Postgres,
  workspace: string,
): Promise<ChatChannel | null> {
  const select = "SELECT id, host, created_at FROM chat_channels WHERE workspace = $1";
  const [row = null] = await postgres.query<ChatChannel>(select, [workspace]);
  return row;
}

/**
 * @returns null when there is none
 * @throws SealBroken
 */
export async function chatUrlOf(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
): Promise<string | null> {
  const [row] = await postgres.query<{ readonly id: string; readonly url_sealed: Buffer }>(
    "SELECT id, url_sealed FROM chat_channels WHERE workspace = $1",
    [workspace],
  );
  return row === undefined ? null : vault.open(row.url_sealed, boundToChat(row.id)).toString();
}

export async function deleteChatChannel(postgres: Postgres, workspace: string): Promise<void> {
  await durably(postgres, "DELETE FROM chat_channels WHERE workspace = $1", [workspace]);
}
