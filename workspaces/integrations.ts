/**
 * Integrations, as the webhook endpoint sees them: looked up by the token in the URL, with the
 * credentials a delivery may be signed with. Tokens are looked up by their SHA-256; tokens and
 * credentials are stored sealed.
 */
import type { Environment } from "../schemas/records/records.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import { hashToken } from "../schemas/ids.js";
import type { Vault } from "../stores/vault/vault.js";
import type { Provider, ProviderToken } from "../providers/provider.js";
import { z } from "zod";
import { limits } from "../config.js";
import { canonicalJson } from "../schemas/canonical-json.js";

export interface Integration {
  readonly id: string;
  readonly workspace: string;
  readonly provider: string;
  readonly environment: Environment;
  /**
   * As the provider's adapter needs them: the current ones, then old ones that still count. Empty
   * until they are entered.
   */
  readonly credentials: readonly unknown[];
}

export type Integrations = ReturnType<typeof openIntegrations>;

/** With the time of the look-up itself, below the promised 5 s. */
const cacheMs = 4_000;
const cacheEntriesMax = 10_000;

export function openIntegrations(options: {
  readonly postgres: Postgres;
  readonly vault: Vault;
  readonly now?: () => number;
}) {
  const { postgres, vault, now = () => Date.now() } = options;
  const cache = new ExpiringCache({
    ttlMs: cacheMs,
    entriesMax: cacheEntriesMax,
    load: (hash) => findIntegration(postgres, vault, "token_hash", Buffer.from(hash, "base64")),
  });
  const cacheById = new ExpiringCache({
    ttlMs: cacheMs,
    entriesMax: cacheEntriesMax,
    load: (id) => findIntegration(postgres, vault, "id", id),
  });
  return {
    /** Cached: a change by another process is seen within 5 s. */
    async byToken(token: string): Promise<Integration | null> {
      const found = await cache.get(hashToken(token).toString("base64"));
      if (found === null) return null;
      const counting = found.previous.filter(({ validUntil }) => validUntil > now());
      if (counting.length === 0) return found.integration;
      const old = counting.map(({ credentials }) => credentials);
      return { ...found.integration, credentials: [...found.integration.credentials, ...old] };
    },
    /**
     * Null also for a deleted integration or one without credentials. Only the current credentials;
     * cached alike.
     */
    async byId(id: string): Promise<Integration | null> {
      const found = (await cacheById.get(id))?.integration;
      return found === undefined || found.credentials.length === 0 ? null : found;
    },
    /** After a change made by this process. */
    forget(): void {
      cache.clear();
      cacheById.clear();
    },
  };
}

/** Whether the workspace had one that existed at a moment. */
export type HadIntegration = (
  of: {
    readonly workspace: string;
    /** Any of which it was made for. */
    readonly environments: readonly Environment[];
    readonly provider: string;
  },
  at: number,
) => Promise<boolean>;

export function hadIntegration(postgres: Postgres): HadIntegration {
  return async ({ workspace, environments, provider }, at) => {
    const rows = await postgres.query(
      `SELECT 1 FROM integrations
       WHERE workspace = $1 AND environment = ANY($2) AND provider = $3
         AND created_at <= $4 AND (deleted_at IS NULL OR deleted_at > $4) LIMIT 1`,
      [workspace, environments, provider, new Date(at)],
    );
    return rows.length > 0;
  };
}

interface Found {
  readonly integration: Integration;
  readonly previous: readonly PreviousCredentials[];
}

interface Row extends Omit<Integration, "credentials">, SealedPrevious {
  readonly credentials_sealed: Buffer;
}

async function findIntegration(
  postgres: Postgres,
  vault: Vault,
  column: "token_hash" | "id",
  value: Buffer | string,
): Promise<Found | null> {
  const [row] = await postgres.query<Row>(
    `SELECT id, workspace, provider, environment, credentials_sealed, previous_credentials_sealed,
       previous_valid_until
     FROM integrations WHERE ${column} = $1 AND deleted_at IS NULL`,
    [value],
  );
  if (row === undefined) return null;
  const { id, workspace, provider, environment } = row;
  const current: unknown = JSON.parse(openSecret(vault, id, "credentials", row.credentials_sealed));
  return {
    integration: {
      id,
      workspace,
      provider,
      environment,
      credentials: current === null ? [] : [current],
    },
    previous: openPrevious(vault, id, row),
  };
}

/** Whether a copy of a sale in this store is not booked; undefined: it is no copy. */
export type IsMirrored = (store: ProviderToken | undefined) => Promise<boolean>;

/**
 * What the workspace's own integration of a store reports is not booked again from RevenueCat's
 * copy (`definitions.md`, Providers). Each store is looked up once, however many events of one call
 * ask.
 * @param at ms since 1970: the first receipt of the copy
 */
export function mirrorsAt(
  given: { hadIntegration: HadIntegration; providers: ReadonlyMap<string, Provider> },
  { workspace, environment }: { workspace: string; environment: Environment },
  at: number,
): IsMirrored {
  const known = new Map<ProviderToken, Promise<boolean>>();
  return async (provider) => {
    if (provider === undefined) return false;
    const reportsBoth = given.providers.get(provider)?.reportsBothEnvironments === true;
    const environments: Environment[] = reportsBoth ? ["live", "test"] : [environment];
    const had =
      known.get(provider) ?? given.hadIntegration({ workspace, environments, provider }, at);
    known.set(provider, had);
    return had;
  };
}

type IntegrationSecret = "token" | "credentials";

/** Binds a sealed secret to its integration, so that rows cannot be swapped. */
export function sealSecret(vault: Vault, id: string, what: IntegrationSecret, text: string) {
  return vault.seal(Buffer.from(text), boundToIntegration(what)(id));
}

/** @throws SealBroken */
export function openSecret(vault: Vault, id: string, what: IntegrationSecret, sealed: Buffer) {
  return vault.open(sealed, boundToIntegration(what)(id)).toString();
}

export function boundToIntegration(what: IntegrationSecret): (id: string) => Buffer {
  return (id) => Buffer.from(`integration:${id}:${what}`);
}

const previousCredentials = z.object({
  credentials: z.unknown(),
  /** ms since 1970 */
  validUntil: z.number(),
});
export type PreviousCredentials = Readonly<z.output<typeof previousCredentials>>;

/** Old credentials that still count, each until its own end, are sealed together. */
export interface SealedPrevious {
  readonly previous_credentials_sealed: Buffer | null;
  /** When the last of them expires. */
  readonly previous_valid_until: Date | null;
}

/**
 * Old credentials that are still accepted beside `next`, newest first: earlier ones that have not
 * expired, and `current`, for `limits.rotatedCredentialsTtlMs` from now on. Equal ones appear once.
 */
export function withReplaced(
  previous: readonly PreviousCredentials[],
  current: unknown,
  next: unknown,
  now: number,
): PreviousCredentials[] {
  const others = previous.filter(
    ({ credentials, validUntil }) =>
      validUntil > now &&
      !areSameCredentials(credentials, current) &&
      !areSameCredentials(credentials, next),
  );
  return [{ credentials: current, validUntil: now + limits.rotatedCredentialsTtlMs }, ...others];
}

export function areSameCredentials(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

/** @throws SealBroken */
export function openPrevious(vault: Vault, id: string, row: SealedPrevious): PreviousCredentials[] {
  if (row.previous_credentials_sealed === null) return [];
  const text = openSecret(vault, id, "credentials", row.previous_credentials_sealed);
  const stored: unknown = JSON.parse(text);
  return z.array(previousCredentials).parse(stored);
}

export function sealPrevious(
  vault: Vault,
  id: string,
  previous: readonly PreviousCredentials[],
): SealedPrevious {
  if (previous.length === 0) {
    return { previous_credentials_sealed: null, previous_valid_until: null };
  }
  const last = Math.max(...previous.map(({ validUntil }) => validUntil));
  return {
    previous_credentials_sealed: sealSecret(vault, id, "credentials", JSON.stringify(previous)),
    previous_valid_until: new Date(last),
  };
}
