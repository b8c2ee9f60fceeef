/**
 * After a rotation of the vault key: the secrets of integrations are sealed again under the new
 * one, so that the previous key may be dropped. Raw events stay sealed as they were taken, so a
 * replay of an old one needs the key of its time.
 */
import { openSecret, sealSecret } from "./integrations.js";
import type { Postgres } from "./postgres.js";
import type { Vault } from "./vault.js";

const rowsAtOnce = 500;

interface Row {
  readonly id: string;
  readonly token_sealed: Buffer;
  readonly credentials_sealed: Buffer;
  readonly previous_credentials_sealed: Buffer | null;
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
         previous_credentials_sealed = $5 WHERE id = $1 AND credentials_sealed = $2`,
      // A rotation of credentials meanwhile has sealed with the new key already.
      [
        id,
        credentials,
        again("token", token),
        again("credentials", credentials),
        previous === null ? null : again("credentials", previous),
      ],
    ),
  );
  return true;
}
