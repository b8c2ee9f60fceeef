/**
 * Single-use tokens: links that sign the owner in, and other values that must not be used twice.
 */
import { insertIfNew, insertRow } from "../../stores/postgres/rows.js";
import type { Sql } from "../../stores/postgres/postgres.js";
import { hashToken } from "../../schemas/ids.js";
import { drawToken } from "./sessions.js";

export const linkMsMax = 60 * 60 * 1000;

export type LinkPurpose = "setup" | "sign-in";

/** @returns the token, for the link */
export async function drawLink(sql: Sql, purpose: LinkPurpose, now: Date): Promise<string> {
  const token = drawToken();
  await insertRow(sql, "one_time_tokens", {
    token_hash: hashToken(token),
    purpose,
    expires_at: new Date(now.getTime() + linkMsMax),
  });
  return token;
}

/** @returns null when it is spent, too old or unknown */
export async function spendLink(sql: Sql, token: string, now: Date): Promise<LinkPurpose | null> {
  const [row] = await sql.query<{ purpose: LinkPurpose }>(
    `DELETE FROM one_time_tokens
     WHERE token_hash = $1 AND purpose IN ('setup', 'sign-in') AND expires_at > $2
     RETURNING purpose`,
    [hashToken(token), now],
  );
  return row?.purpose ?? null;
}

/** To be called once there is an owner. */
export async function forgetSetupLinks(sql: Sql): Promise<void> {
  await sql.query("DELETE FROM one_time_tokens WHERE purpose = 'setup'");
}

/** @returns false when it was spent before */
export async function spendOnce(
  sql: Sql,
  text: string,
  now: Date,
  keptMs: number,
): Promise<boolean> {
  await sql.query("DELETE FROM one_time_tokens WHERE expires_at <= $1", [now]);
  return insertIfNew(sql, "one_time_tokens", {
    token_hash: hashToken(text),
    purpose: "spent",
    expires_at: new Date(now.getTime() + keptMs),
  });
}
