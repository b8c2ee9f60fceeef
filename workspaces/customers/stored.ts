/** Reads and erases what is kept of customers. */
import type { Provider } from "../../providers/provider.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { Customer } from "../../schemas/http/customers.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { Vault } from "../../stores/vault/vault.js";
import { emailHash, idHash, openRecord } from "./customers.js";
import type { Tenant } from "../../schemas/records/records.js";

export interface CustomerReader {
  readonly postgres: Sql;
  readonly vault: Vault;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly hashAccount: HashAccount;
}

export const unknownCustomer: Customer = { id: null, name: null, email: null, provider_url: null };

/** By account; unknown ones are left out. */
export async function customersOf(
  { postgres, vault, providers }: Omit<CustomerReader, "hashAccount">,
  { workspace, environment }: Tenant,
  accounts: readonly string[],
): Promise<Map<string, Customer>> {
  if (accounts.length === 0) return new Map();
  const rows = await postgres.query<{ account: string; provider: string; sealed: Buffer }>(
    `SELECT account, provider, sealed FROM customers
     WHERE workspace = $1 AND environment = $2 AND account = ANY($3::text[])
       AND sealed IS NOT NULL`,
    [workspace, environment, [...new Set(accounts)]],
  );
  return new Map(
    rows.map(({ account, provider, sealed }) => {
      const { id, merchant, name, email } = openRecord(vault, account, sealed);
      const url = id === null ? undefined : providers.get(provider)?.customerUrl;
      const shown = { id, name: name?.text ?? null, email: email?.text ?? null };
      const address = id === null ? undefined : url?.({ id, merchant }, environment);
      return [account, { ...shown, provider_url: address ?? null }];
    }),
  );
}

/** Of one search: an e-mail may belong to many accounts. */
const foundMax = 1_000;

export async function accountsCalled(
  { postgres, hashAccount }: Pick<CustomerReader, "postgres" | "hashAccount">,
  of: Tenant,
  text: string,
): Promise<string[]> {
  const rows = await postgres.query<{ account: string }>(
    `SELECT account FROM customers WHERE workspace = $1 AND id_hash = $2
     UNION SELECT account FROM customers WHERE workspace = $1 AND email_hash = $3
     LIMIT ${foundMax}`,
    [of.workspace, idHash(hashAccount, of, text), emailHash(hashAccount, of, text)],
  );
  return rows.map(({ account }) => account);
}

/** The same of many texts, each with the accounts it finds. */
export async function accountsCalledAny(
  { postgres, hashAccount }: Pick<CustomerReader, "postgres" | "hashAccount">,
  of: Tenant,
  texts: readonly string[],
): Promise<{ readonly account: string; readonly name: string }[]> {
  const byId = new Map(texts.map((text) => [idHash(hashAccount, of, text), text]));
  const byEmail = new Map(texts.map((text) => [emailHash(hashAccount, of, text), text]));
  const rows = await postgres.query<{ account: string; hash: string; kind: "id" | "email" }>(
    `SELECT account, id_hash AS hash, 'id' AS kind FROM customers
     WHERE workspace = $1 AND id_hash = ANY($2::text[])
     UNION ALL SELECT account, email_hash, 'email' FROM customers
     WHERE workspace = $1 AND email_hash = ANY($3::text[])
     LIMIT ${foundOfManyMax}`,
    [of.workspace, [...byId.keys()], [...byEmail.keys()]],
  );
  return rows.flatMap(({ account, hash, kind }) => {
    const name = (kind === "id" ? byId : byEmail).get(hash);
    return name === undefined ? [] : [{ account, name }];
  });
}

/** More than a list may have. */
const foundOfManyMax = 100_000;

/** Durable when it resolves. A mark stays, so that nothing is kept of the account again. */
export async function eraseCustomer(
  postgres: Postgres,
  workspace: string,
  account: string,
): Promise<void> {
  await postgres.transaction((sql) =>
    sql.query(
      `INSERT INTO customers (workspace, account) VALUES ($1, $2)
       ON CONFLICT (workspace, account) DO UPDATE
       SET environment = NULL, provider = NULL, id_hash = NULL, email_hash = NULL, sealed = NULL,
         told_at = NULL`,
      [workspace, account],
    ),
  );
}
