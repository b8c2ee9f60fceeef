/** What is sealed of members, sealed again under a new vault key (vault/reseal.ts). */
import type { Postgres } from "../postgres/postgres.js";
import type { Vault } from "../vault/vault.js";
import { type Personal, openPersonal, sealPersonal } from "./personal.js";

const rowsAtOnce = 500;

const sealedColumns: readonly (readonly [table: string, column: string, what: Personal])[] = [
  ["users", "name_sealed", "name"],
  ["users", "email_sealed", "email"],
  ["invitations", "email_sealed", "email"],
  ["sessions", "id_token_sealed", "id_token"],
];

/** Safe to repeat and to interrupt. @returns how many values were sealed again */
export async function resealPersonal(postgres: Postgres, vault: Vault): Promise<number> {
  let resealed = 0;
  for (const [table, column, what] of sealedColumns) {
    for (let after: string | null = ""; after !== null;) {
      const rows: { id: string; sealed: Buffer }[] = await postgres.query(
        `SELECT id, ${column} AS sealed FROM ${table}
         WHERE ${column} IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`,
        [after, rowsAtOnce],
      );
      const old = rows.filter(({ sealed }) => !vault.isCurrent(sealed));
      await postgres.transaction(async (sql) => {
        for (const { id, sealed } of old) {
          const again = sealPersonal(vault, id, what, openPersonal(vault, id, what, sealed));
          // What was changed meanwhile is sealed under the new key already.
          const update = `UPDATE ${table} SET ${column} = $2 WHERE id = $1 AND ${column} = $3`;
          await sql.query(update, [id, again, sealed]);
        }
      });
      resealed += old.length;
      after = rows.at(-1)?.id ?? null;
    }
  }
  return resealed;
}
