/** Integrations as people manage them; what the webhook door looks up is integrations.ts. */
import { limits } from "../config.js";
import type { Environment } from "../schemas/records.js";
import { hashToken, openSecret, sealSecret } from "./integrations.js";
import type { ListPage } from "./list-page.js";
import type { Postgres } from "./postgres.js";
import { randomBase62 } from "./random.js";
import type { Vault } from "./vault.js";

export interface IntegrationRecord {
  readonly id: string;
  readonly provider: string;
  readonly environment: Environment;
  readonly name: string | null;
  /** The last part of the webhook URL. */
  readonly token: string;
  readonly created_at: Date;
  readonly previous_valid_until: Date | null;
}

interface Row extends Omit<IntegrationRecord, "token"> {
  readonly token_sealed: Buffer;
}

const columns = "id, provider, environment, name, token_sealed, created_at, previous_valid_until";
const tokenLength = 32;

export async function createIntegration(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  given: Pick<IntegrationRecord, "provider" | "environment" | "name"> & {
    readonly credentials: unknown;
  },
  now: Date,
): Promise<IntegrationRecord> {
  const id = `int_${randomBase62(20)}`;
  const token = randomBase62(tokenLength);
  const { provider, environment, name } = given;
  await postgres.transaction((sql) =>
    sql.query(
      `INSERT INTO integrations (id, workspace, provider, environment, name, token_hash,
         token_sealed, credentials_sealed, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        id,
        workspace,
        provider,
        environment,
        name,
        hashToken(token),
        sealSecret(vault, id, "token", token),
        sealSecret(vault, id, "credentials", JSON.stringify(given.credentials)),
        now,
      ],
    ),
  );
  return { id, provider, environment, name, token, created_at: now, previous_valid_until: null };
}

export async function listIntegrations(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  page: ListPage,
): Promise<IntegrationRecord[]> {
  const rows = await postgres.query<Row>(
    `SELECT ${columns} FROM integrations
     WHERE workspace = $4 AND deleted_at IS NULL
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $1`,
    [page.rowsMax, page.after?.createdAt ?? null, page.after?.id ?? null, workspace],
  );
  return rows.map((row) => recordOf(vault, row));
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

/**
 * New credentials count at once; the ones before them for another 24 hours, so that deliveries
 * signed meanwhile still pass, unless `expireOld`.
 */
export async function changeIntegration(
  postgres: Postgres,
  vault: Vault,
  id: string,
  change: {
    readonly name?: string | null | undefined;
    readonly credentials?: unknown;
    readonly expireOld: boolean;
  },
  now: Date,
): Promise<void> {
  await postgres.transaction(async (sql) => {
    if (change.name !== undefined) {
      await sql.query("UPDATE integrations SET name = $2 WHERE id = $1", [id, change.name]);
    }
    if (change.credentials !== undefined) {
      await sql.query(
        `UPDATE integrations SET previous_credentials_sealed = credentials_sealed,
           previous_valid_until = $3, credentials_sealed = $2 WHERE id = $1`,
        [
          id,
          sealSecret(vault, id, "credentials", JSON.stringify(change.credentials)),
          new Date(now.getTime() + limits.rotatedCredentialsTtlMs),
        ],
      );
    }
    if (change.expireOld) {
      await sql.query(
        `UPDATE integrations SET previous_credentials_sealed = NULL, previous_valid_until = NULL
         WHERE id = $1`,
        [id],
      );
    }
  });
}

/** Its URL is unknown from now on; what it delivered stays. */
export async function deleteIntegration(postgres: Postgres, id: string, now: Date): Promise<void> {
  await postgres.transaction((sql) =>
    sql.query(
      `UPDATE integrations SET deleted_at = $2, previous_credentials_sealed = NULL,
         previous_valid_until = NULL WHERE id = $1`,
      [id, now],
    ),
  );
}

function recordOf(vault: Vault, row: Row): IntegrationRecord {
  const { token_sealed, ...record } = row;
  return { ...record, token: openSecret(vault, row.id, "token", token_sealed) };
}
