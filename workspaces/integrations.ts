/**
 * Integrations, as the webhook endpoint sees them: looked up by the token in the URL, with the
 * credentials a delivery may be signed with. Tokens are looked up by their SHA-256; tokens and
 * credentials are stored sealed.
 */
import type { Environment } from "../schemas/records/records.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import {
  openPrevious,
  openSecret,
  type PreviousCredentials,
  type SealedPrevious,
} from "./integration-secrets.js";
import { hashToken } from "./members/personal.js";
import type { Vault } from "../stores/vault/vault.js";
import type { Provider, ProviderToken } from "../providers/provider.js";

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

/**
 * Whether the workspace had one that existed at a moment.
 * @param of.environments any of which it was made for
 */
export async function hadIntegration(
  postgres: Postgres,
  of: {
    readonly workspace: string;
    readonly environments: readonly Environment[];
    readonly provider: string;
  },
  at: number,
): Promise<boolean> {
  const rows = await postgres.query(
    `SELECT 1 FROM integrations
     WHERE workspace = $1 AND environment = ANY($2) AND provider = $3
       AND created_at <= $4 AND (deleted_at IS NULL OR deleted_at > $4) LIMIT 1`,
    [of.workspace, of.environments, of.provider, new Date(at)],
  );
  return rows.length > 0;
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
 * Each store is looked up once, however many events of one call ask.
 * @param at ms since 1970: the first receipt of the copy
 */
export function mirrorsAt(
  { postgres, providers }: { postgres: Postgres; providers: ReadonlyMap<string, Provider> },
  { workspace, environment }: { workspace: string; environment: Environment },
  at: number,
): IsMirrored {
  const known = new Map<ProviderToken, Promise<boolean>>();
  return async (provider) => {
    if (provider === undefined) return false;
    const reportsBoth = providers.get(provider)?.reportsBothEnvironments === true;
    const environments: Environment[] = reportsBoth ? ["live", "test"] : [environment];
    const had =
      known.get(provider) ?? hadIntegration(postgres, { workspace, environments, provider }, at);
    known.set(provider, had);
    return had;
  };
}
