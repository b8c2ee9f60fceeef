/**
 * After a rotation of the vault key: seals every secret in Postgres again under the new one, and
 * keeps the previous key, sealed under the new one. Raw events, providers' answers and customers,
 * of which there are too many, stay sealed as they were, and open by the kept key.
 */
import { boundToChat } from "./channels/chat.js";
import { boundToPerson } from "./members/personal.js";
import { boundToIntegration } from "./integrations.js";
import { boundToEndpoint } from "./webhooks/endpoints.js";
import { boundToName, keepPreviousKey } from "../stores/vault/own-secrets.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import type { Vault } from "../stores/vault/vault.js";

const rowsAtOnce = 500;

interface SealedColumn {
  readonly table: string;
  readonly id?: string;
  readonly column: string;
  readonly boundTo: (id: string) => Buffer;
}

const credentials = boundToIntegration("credentials");
const sealedColumns: readonly SealedColumn[] = [
  { table: "sealed_secrets", id: "name", column: "sealed", boundTo: boundToName },
  { table: "users", column: "name_sealed", boundTo: boundToPerson("name") },
  { table: "users", column: "email_sealed", boundTo: boundToPerson("email") },
  { table: "invitations", column: "email_sealed", boundTo: boundToPerson("email") },
  { table: "sessions", column: "id_token_sealed", boundTo: boundToPerson("id_token") },
  { table: "chat_channels", column: "url_sealed", boundTo: boundToChat },
  { table: "integrations", column: "token_sealed", boundTo: boundToIntegration("token") },
  { table: "integrations", column: "credentials_sealed", boundTo: credentials },
  { table: "integrations", column: "previous_credentials_sealed", boundTo: credentials },
  { table: "webhook_endpoints", column: "secret_sealed", boundTo: boundToEndpoint },
  { table: "webhook_endpoints", column: "previous_secret_sealed", boundTo: boundToEndpoint },
];

/**
 * Afterwards nobody needs the previous key. Safe to repeat and to interrupt: until it ends, some
 * secrets open by one key and some by the other.
 * @param vault seals under the new key and opens with the previous one
 * @returns how many secrets were sealed again
 */
export async function resealSecrets(
  postgres: Postgres,
  vault: Vault,
  previousHex: string,
): Promise<number> {
  // Before anything depends on it.
  await keepPreviousKey(postgres, vault, previousHex);
  let resealed = 0;
  for (const column of sealedColumns) resealed += await resealColumn(postgres, vault, column);
  return resealed;
}

async function resealColumn(
  postgres: Postgres,
  vault: Vault,
  { table, id: idColumn = "id", column, boundTo }: SealedColumn,
): Promise<number> {
  let resealed = 0;
  for (let after: string | null = ""; after !== null;) {
    const rows: { id: string; sealed: Buffer }[] = await postgres.query(
      `SELECT ${idColumn} AS id, ${column} AS sealed FROM ${table}
       WHERE ${column} IS NOT NULL AND ${idColumn} > $1 ORDER BY ${idColumn} LIMIT $2`,
      [after, rowsAtOnce],
    );
    const old = rows.filter(({ sealed }) => !vault.isCurrent(sealed));
    await postgres.transaction(async (sql) => {
      for (const { id, sealed } of old) {
        const again = vault.seal(vault.open(sealed, boundTo(id)), boundTo(id));
        // What was changed meanwhile is sealed under the new key already.
        await sql.query(
          `UPDATE ${table} SET ${column} = $2 WHERE ${idColumn} = $1 AND ${column} = $3`,
          [id, again, sealed],
        );
      }
    });
    resealed += old.length;
    after = rows.at(-1)?.id ?? null;
  }
  return resealed;
}
