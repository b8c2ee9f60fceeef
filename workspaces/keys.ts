/**
 * API keys: `svc_live_` or `svc_test_`, 32 random base62 characters, 6 of checksum. Stored as
 * SHA-256 only (190 random bits need no slow hash), shown once, revocable, with optional expiry
 * (`definitions.md`, Keys).
 */
import { createHash } from "node:crypto";
import { randomBase62 } from "../stores/vault/random.js";
import { hashToken, base62 } from "../schemas/ids.js";
import { LRUCache } from "lru-cache";
import type { Environment } from "../schemas/records/records.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import type { Logger } from "../runtime/logger.js";
import type { Postgres } from "../stores/postgres/postgres.js";

const scopes = ["Read-only", "Full Ingress"] as const;
export type Scope = (typeof scopes)[number];

export interface Access {
  readonly workspace: string;
  readonly environment: Environment;
  readonly keyId: string;
  readonly scope: Scope;
  readonly baseCurrency: string;
}

export type KeyLookup =
  | { readonly ok: true; readonly access: Access }
  | {
      readonly ok: false;
      readonly code: "key_malformed" | "key_unknown" | "key_revoked" | "key_expired";
    };

export type Keys = ReturnType<typeof openKeys>;

const cacheMs = 4_000;
const cacheEntriesMax = 10_000;
const lastUseWrittenEveryMs = 60_000;
const randomLength = 32;
const checksumLength = 6;

export function openKeys(options: {
  readonly postgres: Postgres;
  readonly logger: Logger;
  readonly now?: () => number;
  /** ms by a clock that is never set */
  readonly elapsed?: () => number;
}) {
  const { postgres, logger, now = Date.now, elapsed = () => performance.now() } = options;
  const cache = new ExpiringCache({
    ttlMs: cacheMs,
    entriesMax: cacheEntriesMax,
    elapsed,
    load: (hash) => findKey(postgres, Buffer.from(hash, "base64")),
  });
  const lastUseWritten = new LRUCache<string, number>({ max: cacheEntriesMax });

  /** Not awaited: a use that is not recorded harms nobody. */
  function noteUse(keyId: string): void {
    const at = elapsed();
    const before = lastUseWritten.get(keyId);
    if (before !== undefined && at - before < lastUseWrittenEveryMs) return;
    lastUseWritten.set(keyId, at);
    postgres
      .query("UPDATE api_keys SET last_used_at = $2 WHERE id = $1", [keyId, new Date(now())])
      .catch((error: unknown) => logger.warn({ err: error, keyId }, "last use not written"));
  }

  return {
    /** Cached: a revocation by another process is seen within 5 s. */
    async look(key: string): Promise<KeyLookup> {
      if (!isWellFormed(key)) return { ok: false, code: "key_malformed" };
      const row = await cache.get(hashToken(key).toString("base64"));
      if (row === null) return { ok: false, code: "key_unknown" };
      if (row.revoked) return { ok: false, code: "key_revoked" };
      if (row.expiresAt !== null && row.expiresAt.getTime() <= now()) {
        return { ok: false, code: "key_expired" };
      }
      noteUse(row.access.keyId);
      return { ok: true, access: row.access };
    },
    /** After a change made by this process. */
    forget: () => cache.clear(),
  };
}

/** A new key for the environment; the caller shows it once and stores its hash. */
export function drawKey(environment: Environment): string {
  const body = `svc_${environment}_${randomBase62(randomLength)}`;
  return body + checksum(body);
}

/** The part of a key that may always be shown, to recognize it. */
export function keyPrefix(key: string): string {
  return key.slice(0, "svc_live_".length + 4);
}

/** The checksum finds typing errors without asking the database. */
function isWellFormed(key: string): boolean {
  if (!/^svc_(?:live|test)_[0-9A-Za-z]{38}$/.test(key)) return false;
  return checksum(key.slice(0, -checksumLength)) === key.slice(-checksumLength);
}

function checksum(text: string): string {
  const digest = createHash("sha256").update(`checksum:${text}`).digest();
  return base62(digest.subarray(0, 5)).slice(-checksumLength);
}

interface KeyRow {
  readonly access: Access;
  readonly revoked: boolean;
  readonly expiresAt: Date | null;
}

async function findKey(postgres: Postgres, hash: Buffer): Promise<KeyRow | null> {
  const [row] = await postgres.query<Access & Omit<KeyRow, "access">>(
    `SELECT k.id AS "keyId", k.workspace, k.environment, k.scope, w.base_currency AS "baseCurrency",
       k.revoked_at IS NOT NULL AS revoked, k.expires_at AS "expiresAt"
     FROM api_keys k JOIN workspaces w ON w.id = k.workspace WHERE k.key_hash = $1`,
    [hash],
  );
  if (row === undefined) return null;
  const { revoked, expiresAt, ...access } = row;
  return { access, revoked, expiresAt };
}
