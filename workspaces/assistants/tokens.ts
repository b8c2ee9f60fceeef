/**
 * What an assistant is given: a code for a minute, an access token for an hour, a refresh token
 * that counts once. All are random, and stored as hashes.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { insertRow } from "../../stores/postgres/rows.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { Environment } from "../../schemas/records/records.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { hashToken } from "../../schemas/ids.js";
import { recordActivity } from "../members/activity.js";
import { drawToken } from "../members/sessions.js";

const codeMsMax = 60_000;
export const accessMsMax = 60 * 60_000;
/** An assistant that nobody used for so long is disconnected. */
const idleMsMax = 30 * 24 * 60 * 60_000;
/** How long the access token before a refresh still counts. */
const previousMsMax = 60_000;
/** Access tokens begin with it: found by scanners, and told from keys at sight. */
export const accessPrefix = "mcp_";

export interface Consent {
  readonly client: string;
  readonly workspace: string;
  readonly member: string;
  readonly environment: Environment;
  readonly may_write: boolean;
  readonly code_challenge: string;
  readonly redirect_uri: string;
}

/** @returns the new assistant's id and its code */
export async function grant(
  sql: Sql,
  consent: Consent,
  now: Date,
): Promise<{ readonly id: string; readonly code: string }> {
  const id = `ast_${randomBase62(20)}`;
  const family = drawToken();
  const code = ofFamily(family);
  await sql.query("DELETE FROM assistants WHERE expires_at <= $1", [now]);
  await insertRow(sql, "assistants", {
    id,
    ...consent,
    family_hash: hashToken(family),
    code_hash: hashToken(code),
    expires_at: new Date(now.getTime() + codeMsMax),
    created_at: now,
    last_used_at: now,
  });
  return { id, code };
}

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly may_write: boolean;
}

/** Answers null for anything that is not right; the caller learns no more than that. */
export async function redeemCode(
  postgres: Postgres,
  given: Readonly<Record<"client" | "code" | "redirectUri" | "verifier", string>>,
  requestId: string,
  now: Date,
): Promise<Tokens | null> {
  return postgres.transaction(async (sql) => {
    const found = await ofToken(sql, given.client, given.code, now);
    if (found === null) return null;
    // The code of an assistant that has its tokens: somebody else may have been first.
    if (!isHash(found.code_hash, given.code)) return disconnectForReuse(sql, found, requestId, now);
    const challenge = createHash("sha256").update(given.verifier).digest("base64url");
    if (challenge !== found.code_challenge || given.redirectUri !== found.redirect_uri) {
      await sql.query("DELETE FROM assistants WHERE id = $1", [found.id]);
      return null;
    }
    // Connected again: the new one takes the place of the old.
    await sql.query(
      `DELETE FROM assistants o USING assistants n
       WHERE n.id = $1 AND o.id <> n.id AND o.client = n.client AND o.member = n.member
         AND o.workspace = n.workspace AND o.environment = n.environment
         AND o.code_hash IS NULL`,
      [found.id],
    );
    return issue(sql, found, given.code, now);
  });
}

/** A refresh token that was used before ends the assistant: one of two who have it is a thief. */
export async function refresh(
  postgres: Postgres,
  given: { readonly client: string; readonly token: string },
  requestId: string,
  now: Date,
): Promise<Tokens | null> {
  return postgres.transaction(async (sql) => {
    const found = await ofToken(sql, given.client, given.token, now);
    if (found === null || found.code_hash !== null) return null;
    if (!isHash(found.refresh_hash, given.token)) {
      return disconnectForReuse(sql, found, requestId, now);
    }
    return issue(sql, found, given.token, now);
  });
}

/** RFC 7009, for either kind of token: the assistant is disconnected. */
export async function revoke(
  postgres: Postgres,
  given: { readonly client: string; readonly token: string },
  requestId: string,
  now: Date,
): Promise<void> {
  await postgres.transaction(async (sql) => {
    const [found] = await sql.query<Ended>(
      `DELETE FROM assistants
       WHERE client = $1 AND (access_hash = $2 OR previous_hash = $2 OR refresh_hash = $2)
       RETURNING id, workspace`,
      [given.client, hashToken(given.token)],
    );
    if (found !== undefined) await recordEnd(sql, found, requestId, now);
  });
}

interface Ended {
  readonly id: string;
  readonly workspace: string;
}

interface Row extends Ended {
  readonly may_write: boolean;
  readonly code_hash: Buffer | null;
  readonly code_challenge: string;
  readonly redirect_uri: string;
  readonly refresh_hash: Buffer | null;
}

/** Whose code or refresh token it is, or was; of two who come at once the second waits. */
async function ofToken(sql: Sql, client: string, token: string, now: Date): Promise<Row | null> {
  const [family = ""] = token.split(".");
  const [found] = await sql.query<Row>(
    `SELECT id, workspace, may_write, code_hash, code_challenge, redirect_uri, refresh_hash
     FROM assistants WHERE family_hash = $1 AND client = $2 AND expires_at > $3 FOR UPDATE`,
    [hashToken(family), client, now],
  );
  return found ?? null;
}

async function issue(sql: Sql, { id, may_write }: Row, used: string, now: Date): Promise<Tokens> {
  const access = `${accessPrefix}${drawToken()}`;
  const next = ofFamily(used.split(".")[0] ?? "");
  const at = now.getTime();
  await sql.query(
    `UPDATE assistants SET code_hash = NULL, refresh_hash = $2, access_hash = $3,
       access_until = $4, previous_hash = access_hash, previous_until = least(access_until, $5),
       expires_at = $6, last_used_at = $7 WHERE id = $1`,
    [
      id,
      hashToken(next),
      hashToken(access),
      new Date(at + accessMsMax),
      new Date(at + previousMsMax),
      new Date(at + idleMsMax),
      now,
    ],
  );
  const noteUse = `UPDATE oauth_clients SET used_at = $2
    WHERE id = (SELECT client FROM assistants WHERE id = $1)`;
  await sql.query(noteUse, [id, now]);
  return { access, refresh: next, may_write };
}

async function disconnectForReuse(sql: Sql, { id, workspace }: Row, requestId: string, now: Date) {
  await sql.query("DELETE FROM assistants WHERE id = $1", [id]);
  await recordEnd(sql, { id, workspace }, requestId, now);
  return null;
}

/** By the program itself, or because a token of its was used twice. */
async function recordEnd(sql: Sql, { id, workspace }: Ended, requestId: string, now: Date) {
  const done = { workspace, actor: "assistant", action: "assistant.disconnected", object: id };
  await recordActivity(sql, { ...done, requestId }, now);
}

function ofFamily(family: string): string {
  return `${family}.${drawToken()}`;
}

function isHash(expected: Buffer | null, token: string): boolean {
  return expected !== null && timingSafeEqual(expected, hashToken(token));
}
