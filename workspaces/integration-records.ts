/** Integrations as people manage them; the webhook endpoint looks them up in integrations.ts. */
import { limits } from "../config.js";
import type { Environment, Tenant } from "../schemas/records/records.js";
import { oweReplay } from "./rejects/credential-replays.js";
import { randomBase62 } from "../stores/vault/random.js";
import { hashToken } from "../schemas/ids.js";
import { type ListPage, newestFirst } from "./list-page.js";
import type { Postgres, Sql } from "../stores/postgres/postgres.js";
import { insertRow, updateRow } from "../stores/postgres/rows.js";
import {
  areSameCredentials,
  openPrevious,
  openSecret,
  sealPrevious,
  sealSecret,
  type SealedPrevious,
  withReplaced,
} from "./integrations.js";
import type { Vault } from "../stores/vault/vault.js";

export interface IntegrationRecord {
  readonly id: string;
  readonly provider: string;
  readonly environment: Environment;
  readonly name: string | null;
  /** The last part of the webhook URL. */
  readonly token: string;
  readonly created_at: Date;
  /** Names of those entered. Without any its URL exists, and every call to it is refused. */
  readonly credentials_set: readonly string[];
  /** When the last of its old credentials expires. */
  readonly previous_valid_until: Date | null;
}

interface Row extends Omit<IntegrationRecord, "token" | "credentials_set"> {
  readonly token_sealed: Buffer;
  readonly credentials_sealed: Buffer;
}

const columns =
  "id, provider, environment, name, token_sealed, credentials_sealed, created_at, " +
  "previous_valid_until";
const tokenLength = 32;

export async function createIntegration(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  given: Pick<IntegrationRecord, "provider" | "environment" | "name"> & {
    /** Null: the provider shows them only once it knows the URL. */
    readonly credentials: unknown;
  },
  now: Date,
): Promise<IntegrationRecord> {
  const id = `int_${randomBase62(20)}`;
  const token = randomBase62(tokenLength);
  const { provider, environment, name } = given;
  await postgres.transaction((sql) =>
    insertRow(sql, "integrations", {
      id,
      workspace,
      provider,
      environment,
      name,
      token_hash: hashToken(token),
      token_sealed: sealSecret(vault, id, "token", token),
      credentials_sealed: sealSecret(vault, id, "credentials", JSON.stringify(given.credentials)),
      created_at: now,
    }),
  );
  const credentials_set = namesOf(given.credentials);
  const made = { id, provider, environment, name, token, credentials_set, created_at: now };
  return { ...made, previous_valid_until: null };
}

export async function listIntegrations(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  page: ListPage,
): Promise<IntegrationRecord[]> {
  const select = `SELECT ${columns} FROM integrations WHERE workspace = $4 AND deleted_at IS NULL`;
  const rows = await newestFirst<Row>(postgres, page, select, [workspace]);
  return rows.map((row) => recordOf(vault, row));
}

/** Without their URLs, so that nothing sealed is opened. */
export function integrationsOf(
  postgres: Postgres,
  { workspace, environment }: Tenant,
  rowsMax: number,
): Promise<Pick<IntegrationRecord, "id" | "provider" | "name" | "created_at">[]> {
  return postgres.query(
    `SELECT id, provider, name, created_at FROM integrations
     WHERE workspace = $1 AND environment = $2 AND deleted_at IS NULL
     ORDER BY created_at, id LIMIT $3`,
    [workspace, environment, rowsMax],
  );
}

export async function findIntegrationRecord(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  id: string,
): Promise<IntegrationRecord | null> {
  const [row] = await postgres.query<Row>(
    `SELECT ${columns} FROM integrations WHERE workspace = $1 AND id = $2 AND deleted_at IS NULL`,
    [workspace, id],
  );
  return row === undefined ? null : recordOf(vault, row);
}

const noPrevious = {
  previous_credentials_sealed: null,
  previous_valid_until: null,
};

/** @param current null: none are entered yet */
type CredentialsChange = (current: unknown) => unknown;

/**
 * New credentials count at once; the old ones for another 24 hours, so that deliveries signed
 * meanwhile still pass, unless `expireOld`. Repeating the call changes nothing.
 * @returns false, and nothing is changed, when more than `limits.oldCredentialsMax` would count
 */
export async function changeIntegration(
  postgres: Postgres,
  vault: Vault,
  id: string,
  change: {
    readonly name?: string | null | undefined;
    readonly credentials?: CredentialsChange | undefined;
    readonly expireOld: boolean;
  },
  now: Date,
): Promise<boolean> {
  return postgres.transaction(async (sql) => {
    const { credentials, expireOld } = change;
    if (credentials !== undefined) {
      const how = { credentials, expireOld, now: now.getTime() };
      const isRotated = await rotate(sql, vault, id, how);
      if (!isRotated) return false;
      // They may allow what the old ones did not; even equal ones may have got more rights.
      await oweReplay(sql, id);
    }
    if (change.name !== undefined) {
      await updateRow(sql, "integrations", id, { name: change.name });
    }
    if (expireOld) await updateRow(sql, "integrations", id, noPrevious);
    return true;
  });
}

async function rotate(
  sql: Sql,
  vault: Vault,
  id: string,
  change: {
    readonly credentials: CredentialsChange;
    readonly expireOld: boolean;
    readonly now: number;
  },
): Promise<boolean> {
  // Locked, because two calls at a time would each replace what the other has not yet written.
  const [row] = await sql.query<SealedPrevious & { readonly credentials_sealed: Buffer }>(
    `SELECT credentials_sealed, previous_credentials_sealed, previous_valid_until
     FROM integrations WHERE id = $1 FOR UPDATE`,
    [id],
  );
  if (row === undefined) return true;
  const current: unknown = JSON.parse(openSecret(vault, id, "credentials", row.credentials_sealed));
  const text = JSON.stringify(change.credentials(current));
  const next: unknown = JSON.parse(text);
  if (areSameCredentials(current, next)) return true;
  const before = openPrevious(vault, id, row);
  const isFirst = current === null;
  const old = change.expireOld || isFirst ? [] : withReplaced(before, current, next, change.now);
  if (old.length > limits.oldCredentialsMax) return false;
  return updateRow(sql, "integrations", id, {
    credentials_sealed: sealSecret(vault, id, "credentials", text),
    ...sealPrevious(vault, id, old),
  });
}

/** Its URL is unknown from now on; what it delivered stays. */
export async function deleteIntegration(postgres: Postgres, id: string, now: Date): Promise<void> {
  await postgres.transaction((sql) =>
    updateRow(sql, "integrations", id, { deleted_at: now, ...noPrevious }),
  );
}

function recordOf(vault: Vault, row: Row): IntegrationRecord {
  const { token_sealed, credentials_sealed, ...record } = row;
  const credentials: unknown = JSON.parse(
    openSecret(vault, row.id, "credentials", credentials_sealed),
  );
  const token = openSecret(vault, row.id, "token", token_sealed);
  return { ...record, token, credentials_set: namesOf(credentials) };
}

function namesOf(credentials: unknown): string[] {
  return Object.keys(credentials ?? {});
}
