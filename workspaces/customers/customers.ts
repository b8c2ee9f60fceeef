/**
 * Who the accounts are: a record of each, sealed by the vault, with keyed hashes beside it for
 * exact search (`definitions.md`, Customers). For members only: nothing of it is in the log, in
 * ClickHouse, or in logs and metrics.
 */
import { LRUCache } from "lru-cache";
import type { NamedCustomer } from "../../providers/provider.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import type { Tenant } from "../../schemas/records/records.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { Vault } from "../../stores/vault/vault.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import {
  type CustomerRecord,
  nobody,
  parseRecord,
  plainEmail,
  recordText,
  saysMore,
  withNews,
} from "./customer.js";
import type { CustomerDetails } from "../../schemas/http/manage.js";

export interface ReportedCustomer extends Tenant {
  readonly provider: string;
  readonly named: NamedCustomer;
}

export interface Customers {
  /**
   * Keeps what is new; repeats and older reports change nothing, and erased customers stay erased.
   * @throws PostgresUnavailable
   */
  keep(reported: readonly ReportedCustomer[]): Promise<void>;
}

interface CustomerStores {
  readonly postgres: Postgres;
  readonly vault: Vault;
  readonly hashAccount: HashAccount;
}

/** About half a kB each. */
const rememberedMax = 20_000;
/** How late other processes see a change of the setting; `off` takes effect at once. */
const settingKeptMs = 4_000;
const workspacesMax = 10_000;
/** A round fails only if another process writes the same customer at the same moment. */
const roundsMax = 3;

interface Remembered {
  /** Of the workspace's setting. A change may have erased records that were kept before. */
  readonly revision: number;
  /** Null: it was erased. */
  readonly record: CustomerRecord | null;
}

interface Reported extends Tenant {
  readonly account: string;
  readonly provider: string;
  readonly news: NamedCustomer[];
  readonly revision: number;
}

/** @param settingMs how long the setting is remembered before it is read again */
export function openCustomers(
  { postgres, vault, hashAccount }: CustomerStores,
  settingMs = settingKeptMs,
): Customers {
  const settings = new ExpiringCache({
    ttlMs: settingMs,
    entriesMax: workspacesMax,
    load: (workspace) => customerDetailsOf(postgres, workspace),
  });
  const remembered = new LRUCache<string, Remembered>({ max: rememberedMax });

  /** By account; only those that may have news. */
  async function newsIn(reported: readonly ReportedCustomer[]): Promise<Map<string, Reported>> {
    const byAccount = new Map<string, Reported>();
    for (const { named, workspace, environment, provider } of reported) {
      const setting = await settings.get(workspace);
      if (setting === null || setting.details === "off") continue;
      const account = hashAccount(workspace, environment, provider, named.account);
      const { revision } = setting;
      const one = byAccount.get(account);
      if (one === undefined) {
        const news = [named];
        byAccount.set(account, { account, workspace, environment, provider, news, revision });
      } else one.news.push(named);
    }
    for (const [account, one] of byAccount) {
      if (!isSettled(one)) continue;
      byAccount.delete(account);
      // The time of the last report is only remembered: a late, older report is no news.
      const record = remembered.get(account)?.record ?? null;
      const later = record && one.news.reduce(withNews, record);
      remembered.set(account, { revision: one.revision, record: later });
    }
    return byAccount;
  }

  function rowOf(
    { account, workspace, environment, provider, news }: Reported,
    of: CustomerRecord,
  ) {
    const { id, email } = of;
    const scope = { workspace, environment };
    return {
      account,
      ...scope,
      provider,
      id_hash: id === null ? null : idHash(hashAccount, scope, id),
      email_hash: email === null ? null : emailHash(hashAccount, scope, email.text),
      sealed: vault.seal(Buffer.from(recordText(of)), boundToCustomer(account)).toString("hex"),
      told_at: Math.max(...news.map(({ at }) => at)),
    };
  }

  /** A record remembered from before a change of the setting may be gone. */
  function isRemembered({ account, revision }: Reported): boolean {
    return remembered.get(account)?.revision === revision;
  }

  /** It has all that was reported, or it was erased. */
  function isSettled({ account, revision, news }: Reported): boolean {
    const known = remembered.get(account);
    if (known?.revision !== revision) return false;
    return known.record === null || !saysMore(news.reduce(withNews, known.record), known.record);
  }

  async function insert(all: readonly Reported[]): Promise<void> {
    if (all.length === 0) return;
    const records = new Map(
      all.map((reported) => [reported, reported.news.reduce(withNews, nobody)]),
    );
    const rows = [...records].map(([reported, record]) => rowOf(reported, record));
    const made = await postgres.query<{ account: string }>(insertSql, [JSON.stringify(rows)]);
    const accounts = new Set(made.map(({ account }) => account));
    for (const [{ account, revision }, record] of records) {
      if (accounts.has(account)) remembered.set(account, { revision, record });
    }
  }

  async function update(all: readonly Reported[]): Promise<void> {
    if (all.length === 0) return;
    const known = await postgres.query<{ account: string; sealed: Buffer | null }>(
      `SELECT account, sealed FROM customers
       WHERE workspace = ANY($1::text[]) AND account = ANY($2::text[])`,
      [all.map(({ workspace }) => workspace), all.map(({ account }) => account)],
    );
    const sealed = new Map(known.map((row) => [row.account, row.sealed]));
    const changed = new Map<string, { row: object; after: Remembered }>();
    for (const reported of all) {
      const { account, revision, news } = reported;
      const before = sealed.get(account);
      if (before === undefined) continue;
      if (before === null) {
        remembered.set(account, { revision, record: null });
        continue;
      }
      const record = openRecord(vault, account, before);
      const after = { revision, record: news.reduce(withNews, record) };
      if (saysMore(after.record, record)) {
        const row = { ...rowOf(reported, after.record), before: before.toString("hex") };
        changed.set(account, { row, after });
      } else remembered.set(account, after);
    }
    if (changed.size === 0) return;
    const rows = [...changed.values()].map(({ row }) => row);
    const made = await postgres.query<{ account: string }>(updateSql, [JSON.stringify(rows)]);
    for (const { account } of made) {
      const after = changed.get(account)?.after;
      if (after !== undefined) remembered.set(account, after);
    }
  }

  return {
    async keep(reported) {
      if (reported.length === 0) return;
      const news = await newsIn(reported);
      // In one order, so that no two processes wait for each other.
      let left = [...news.values()].toSorted((one, other) =>
        one.account < other.account ? -1 : 1,
      );
      for (let round = 0; round < roundsMax && left.length > 0; round += 1) {
        await insert(left.filter((one) => !isRemembered(one)));
        await update(left.filter((one) => !isSettled(one)));
        left = left.filter((one) => !isSettled(one));
      }
    },
  };
}

/** Checks the setting in the same statement, so that nothing is kept after `off`. */
const insertSql = `INSERT INTO customers
    (account, workspace, environment, provider, id_hash, email_hash, sealed, told_at)
  SELECT said.account, said.workspace, said.environment, said.provider, said.id_hash,
    said.email_hash, decode(said.sealed, 'hex'), said.told_at
  FROM json_to_recordset($1::json) AS said (account text, workspace text, environment text,
    provider text, id_hash text, email_hash text, sealed text, told_at bigint)
  JOIN workspaces w ON w.id = said.workspace AND w.customer_details <> 'off'
  FOR SHARE OF w
  ON CONFLICT DO NOTHING
  RETURNING account`;

const updateSql = `UPDATE customers c
  SET id_hash = said.id_hash, email_hash = said.email_hash, sealed = decode(said.sealed, 'hex'),
    told_at = greatest(c.told_at, said.told_at)
  FROM json_to_recordset($1::json) AS said (workspace text, account text, id_hash text,
    email_hash text, sealed text, told_at bigint, before text)
  WHERE c.workspace = said.workspace AND c.account = said.account
    AND c.sealed = decode(said.before, 'hex')
  RETURNING c.account`;

/** Without the provider, because one search covers all of them. */
export function idHash(hash: HashAccount, of: Tenant, id: string): string {
  return hash(of.workspace, of.environment, "customer id", id);
}

export function emailHash(hash: HashAccount, of: Tenant, email: string): string {
  return hash(of.workspace, of.environment, "customer e-mail", plainEmail(email));
}

/** Bound to its row, so that rows cannot be swapped. */
function boundToCustomer(account: string): Buffer {
  return Buffer.from(`customer:${account}`);
}

/** @throws SealBroken */
export function openRecord(vault: Vault, account: string, sealed: Buffer): CustomerRecord {
  return parseRecord(vault.open(sealed, boundToCustomer(account)).toString());
}

/** Who may see a workspace's customers by name, and whether any are kept. */
interface CustomerSetting {
  readonly details: CustomerDetails;
  /** Grows with each change. */
  readonly revision: number;
}

/** @returns null: there is no such workspace */
async function customerDetailsOf(
  postgres: Postgres,
  workspace: string,
): Promise<CustomerSetting | null> {
  const [row] = await postgres.query<CustomerSetting>(
    `SELECT customer_details AS details, customer_details_revision AS revision
     FROM workspaces WHERE id = $1`,
    [workspace],
  );
  return row ?? null;
}

/**
 * `off` erases what was kept; customers erased one by one stay marked, so that they are not kept
 * again when the setting changes back.
 */
export async function setCustomerDetails(
  postgres: Postgres,
  workspace: string,
  details: CustomerDetails,
): Promise<void> {
  await postgres.transaction(
    async (sql) => {
      await sql.query(
        `UPDATE workspaces SET customer_details = $2,
           customer_details_revision = customer_details_revision + 1
         WHERE id = $1 AND customer_details <> $2`,
        [workspace, details],
      );
      if (details !== "off") return;
      await sql.query("DELETE FROM customers WHERE workspace = $1 AND sealed IS NOT NULL", [
        workspace,
      ]);
    },
    // A large workspace has a million of them.
    { isUnhurried: true },
  );
}
