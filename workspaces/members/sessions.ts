/**
 * Sessions of people in the dashboard: 256 random bits in a cookie, stored as a hash. Look-ups are
 * cached, so a session ended by another process is refused within 5 s.
 */
import { randomBytes } from "node:crypto";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import type { Logger } from "../../runtime/logger.js";
import { insertRow } from "../../stores/postgres/rows.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { CustomerDetails } from "../../schemas/http/manage.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { hashToken } from "../../schemas/ids.js";
import type { Vault } from "../../stores/vault/vault.js";
import { openPersonal, sealPersonal } from "./personal.js";
import type { Role } from "./roles.js";

export const idleMsMax = 12 * 60 * 60 * 1000;
export const sessionMsMax = 7 * 24 * 60 * 60 * 1000;
const cacheMs = 4_000;
const cacheEntriesMax = 10_000;
const lastUseWrittenEveryMs = 60_000;
/** The token before a change of role stays valid for calls that are under way. */
const previousTokenMs = 60_000;
const tokenBytes = 32;

interface Membership {
  readonly role: Role;
  readonly name: string;
  readonly baseCurrency: string;
  readonly customerDetails: CustomerDetails;
}

export interface Session {
  readonly id: string;
  readonly user: { readonly id: string; readonly name: string; readonly ownsInstallation: boolean };
  readonly memberships: ReadonlyMap<string, Membership>;
  /** A role changed: the caller gets a new token. */
  readonly renew: boolean;
}

/** How a session began, and its name at its provider. */
interface SignIn {
  readonly user: string;
  /** The name of an identity provider, `passkey` or `link`. */
  readonly by: string;
  readonly provider?: {
    readonly issuer: string;
    readonly subjectHash: Buffer;
    readonly sidHash: Buffer | null;
    readonly idToken: string | null;
  };
}

export interface Sessions {
  /** @returns null: there is none (any more) */
  look(token: string): Promise<Session | null>;
  /** By its id, without counting as a use: for open sockets. */
  find(id: string): Promise<Session | null>;
  /** @returns the token, which nobody can read again */
  begin(sql: Sql, signIn: SignIn): Promise<string>;
  /** @returns a new token; null: another call of the same session got one */
  renew(session: Pick<Session, "id">, token: string): Promise<string | null>;
  /** After a change made by this process. */
  forget(): void;
}

export function openSessions(options: {
  readonly postgres: Postgres;
  readonly vault: Vault;
  readonly logger: Logger;
  readonly now?: () => number;
}): Sessions {
  const { postgres, vault, logger, now = Date.now } = options;
  const cached = (load: (key: string) => Promise<Row | null>) =>
    new ExpiringCache({ ttlMs: cacheMs, entriesMax: cacheEntriesMax, load });
  const byToken = cached((hash) =>
    findRow(postgres, "token", Buffer.from(hash, "base64"), new Date(now())),
  );
  const byId = cached((id) => findRow(postgres, "id", id, new Date(now())));
  const forget = (): void => {
    byToken.clear();
    byId.clear();
  };
  const lastUseWritten = new Map<string, number>();

  /** Not awaited: at worst a session expires a minute early. */
  function noteUse(id: string): void {
    const at = now();
    const before = lastUseWritten.get(id);
    if (before !== undefined && Math.abs(at - before) < lastUseWrittenEveryMs) return;
    if (lastUseWritten.size >= cacheEntriesMax) lastUseWritten.clear();
    lastUseWritten.set(id, at);
    postgres
      .query("UPDATE sessions SET last_seen_at = $2 WHERE id = $1", [id, new Date(at)])
      .catch((error: unknown) => logger.warn({ err: error, session: id }, "use not recorded"));
  }

  function session(row: Row | null): Session | null {
    if (row === null || row.expires_at.getTime() <= now()) return null;
    if (row.last_seen_at.getTime() + idleMsMax <= now()) return null;
    const memberships = row.memberships ?? [];
    return {
      id: row.id,
      user: {
        id: row.member,
        name: openPersonal(vault, row.member, "name", row.name_sealed),
        ownsInstallation: row.owns_installation,
      },
      memberships: new Map(memberships.map(({ workspace, ...rest }) => [workspace, rest])),
      renew: row.renew,
    };
  }

  return {
    async look(token) {
      if (!tokenShape.test(token)) return null;
      const found = session(await byToken.get(hashToken(token).toString("base64")));
      if (found !== null) noteUse(found.id);
      return found;
    },
    find: async (id) => session(await byId.get(id)),
    begin: (sql, signIn) => begin(sql, vault, signIn, new Date(now())),
    async renew({ id }, token) {
      const fresh = drawToken();
      const [row] = await postgres.transaction((sql) =>
        sql.query(
          `UPDATE sessions SET token_hash = $3, previous_hash = $2, previous_until = $4,
             renew = false
           WHERE id = $1 AND token_hash = $2 AND renew RETURNING id`,
          [id, hashToken(token), hashToken(fresh), new Date(now() + previousTokenMs)],
        ),
      );
      forget();
      return row === undefined ? null : fresh;
    },
    forget,
  };
}

const tokenShape = /^[\w-]{43}$/;

export function drawToken(): string {
  return randomBytes(tokenBytes).toString("base64url");
}

async function begin(sql: Sql, vault: Vault, signIn: SignIn, now: Date): Promise<string> {
  const id = `ses_${randomBase62(20)}`;
  const token = drawToken();
  const { provider } = signIn;
  const idToken = provider?.idToken ?? null;
  await sql.query("DELETE FROM sessions WHERE expires_at <= $1", [now]);
  await insertRow(sql, "sessions", {
    id,
    member: signIn.user,
    token_hash: hashToken(token),
    began_by: signIn.by,
    issuer: provider?.issuer ?? null,
    subject_hash: provider?.subjectHash ?? null,
    sid_hash: provider?.sidHash ?? null,
    id_token_sealed: idToken === null ? null : sealPersonal(vault, id, "id_token", idToken),
    created_at: now,
    last_seen_at: now,
    expires_at: new Date(now.getTime() + sessionMsMax),
  });
  return token;
}

interface Row {
  readonly id: string;
  readonly member: string;
  readonly name_sealed: Buffer;
  readonly owns_installation: boolean;
  readonly renew: boolean;
  readonly last_seen_at: Date;
  readonly expires_at: Date;
  readonly memberships: readonly (Membership & { readonly workspace: string })[] | null;
}

async function findRow(
  postgres: Postgres,
  by: "token" | "id",
  value: Buffer | string,
  now: Date,
): Promise<Row | null> {
  const isIt =
    by === "id"
      ? "s.id = $1 AND $2::timestamptz IS NOT NULL"
      : "(s.token_hash = $1 OR (s.previous_hash = $1 AND s.previous_until > $2))";
  const [row] = await postgres.query<Row>(
    `SELECT s.id, s.member, u.name_sealed, u.owns_installation, s.renew, s.last_seen_at,
       s.expires_at,
       (SELECT jsonb_agg(jsonb_build_object('workspace', w.id, 'role', m.role, 'name', w.name,
            'baseCurrency', w.base_currency, 'customerDetails', w.customer_details)
            ORDER BY w.created_at, w.id)
        FROM memberships m JOIN workspaces w ON w.id = m.workspace
        WHERE m.member = s.member) AS memberships
     FROM sessions s JOIN users u ON u.id = s.member WHERE ${isIt}`,
    [value, now],
  );
  return row ?? null;
}
