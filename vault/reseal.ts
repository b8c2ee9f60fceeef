/**
 * After a rotation of the vault key: every secret in Postgres is sealed again under the new one,
 * and the previous key is kept, sealed under the new one, too. Raw events and providers' answers
 * stay sealed as they were taken and are opened by the key that was kept.
 */
import { resealPersonal } from "../members/reseal.js";
import { openSecret, sealSecret } from "../workspaces/integration-secrets.js";
import { keepPreviousKey, resealOwnSecrets } from "./own-secrets.js";
import type { Postgres } from "../postgres/postgres.js";
import type { Vault } from "./vault.js";

const rowsAtOnce = 500;

interface Row {
  readonly id: string;
  readonly token_sealed: Buffer;
  readonly credentials_sealed: Buffer;
  readonly previous_credentials_sealed: Buffer | null;
}

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
  const own = await resealOwnSecrets(postgres, vault);
  const personal = await resealPersonal(postgres, vault);
  return own + personal + (await resealIntegrations(postgres, vault));
}

/** Safe to repeat and to interrupt. @returns how many integrations were sealed again */
export async function resealIntegrations(postgres: Postgres, vault: Vault): Promise<number> {
  let resealed = 0;
  for (let after = ""; ;) {
    const rows = await postgres.query<Row>(
      `SELECT id, token_sealed, credentials_sealed, previous_credentials_sealed
       FROM integrations WHERE id > $1 ORDER BY id LIMIT $2`,
      [after, rowsAtOnce],
    );
    for (const row of rows) if (await resealRow(postgres, vault, row)) resealed += 1;
    const last = rows.at(-1);
    if (last === undefined) return resealed;
    after = last.id;
  }
}

async function resealRow(postgres: Postgres, vault: Vault, row: Row): Promise<boolean> {
  const { id, token_sealed: token, credentials_sealed: credentials } = row;
  const previous = row.previous_credentials_sealed;
  const sealed = [token, credentials, ...(previous === null ? [] : [previous])];
  if (sealed.every((value) => vault.isCurrent(value))) return false;
  const again = (what: "token" | "credentials", value: Buffer) =>
    sealSecret(vault, id, what, openSecret(vault, id, what, value));
  await postgres.transaction((sql) =>
    sql.query(
      `UPDATE integrations SET token_sealed = $3, credentials_sealed = $4,
         previous_credentials_sealed = $5
       WHERE id = $1 AND credentials_sealed = $2
         AND previous_credentials_sealed IS NOT DISTINCT FROM $6`,
      // A rotation of credentials meanwhile has sealed with the new key already.
      [
        id,
        credentials,
        again("token", token),
        again("credentials", credentials),
        previous === null ? null : again("credentials", previous),
        previous,
      ],
    ),
  );
  return true;
}
