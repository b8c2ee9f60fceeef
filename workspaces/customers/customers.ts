/**
 * Who the accounts are: a record of each, sealed by the vault, with keyed hashes beside it for
 * exact search (`definitions.md`, Customers). It is for members only: nothing of it is in the log,
 * in ClickHouse, or in what the service says of itself.
 */
import { LRUCache } from "lru-cache";
import type { NamedCustomer } from "../../providers/provider.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import type { Environment } from "../../schemas/records/records.js";
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
import { customerDetailsOf } from "./setting.js";

/** Whose accounts: each environment of a workspace has its own. */
export interface CustomerScope {
  readonly workspace: string;
  readonly environment: Environment;
}

/** What one event says of one customer. */
export interface ToldCustomer extends CustomerScope {
  readonly provider: string;
  readonly named: NamedCustomer;
}

export interface Customers {
  /**
   * Keeps what is new of them; repeats and older news change nothing, and who was erased stays so.
   * @throws PostgresUnavailable
   */
  keep(told: readonly ToldCustomer[]): Promise<void>;
}

interface CustomerStores {
  readonly postgres: Postgres;
  readonly vault: Vault;
  readonly hashAccount: HashAccount;
}

/** About half a kB each. */
const rememberedMax = 20_000;
/** A change of the setting is seen by other processes after so long; `off` holds at once. */
const settingKeptMs = 4_000;
const workspacesMax = 10_000;
/** Only another process that keeps the same customer at the same moment makes a round fail. */
const roundsMax = 3;

interface Remembered {
  /** Of the workspace's setting. After it changed, records kept before may have been erased. */
  readonly revision: number;
  /** Null: it was erased. */
  readonly record: CustomerRecord | null;
}

/** What is told of one account, in one batch. */
interface Told extends CustomerScope {
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

  /** By account; only those of whom anything may be new. */
  async function newsIn(told: readonly ToldCustomer[]): Promise<Map<string, Told>> {
    const byAccount = new Map<string, Told>();
    for (const { named, workspace, environment, provider } of told) {
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
      // When it was told last is only remembered: a late telling of before then is no news.
      const record = remembered.get(account)?.record ?? null;
      const later = record && one.news.reduce(withNews, record);
      remembered.set(account, { revision: one.revision, record: later });
    }
    return byAccount;
  }

  function rowOf({ account, workspace, environment, provider, news }: Told, of: CustomerRecord) {
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

  /** What is remembered from before the setting changed may be gone. */
  function isRemembered({ account, revision }: Told): boolean {
    return remembered.get(account)?.revision === revision;
  }

  /** All that was told is in it, or it was erased. */
  function isSettled({ account, revision, news }: Told): boolean {
    const known = remembered.get(account);
    if (known?.revision !== revision) return false;
    return known.record === null || !saysMore(news.reduce(withNews, known.record), known.record);
  }

  /** Those not known yet. */
  async function insert(all: readonly Told[]): Promise<void> {
    if (all.length === 0) return;
    const records = new Map(all.map((told) => [told, told.news.reduce(withNews, nobody)]));
    const rows = [...records].map(([told, record]) => rowOf(told, record));
    const made = await postgres.query<{ account: string }>(insertSql, [JSON.stringify(rows)]);
    const accounts = new Set(made.map(({ account }) => account));
    for (const [{ account, revision }, record] of records) {
      if (accounts.has(account)) remembered.set(account, { revision, record });
    }
  }

  /** Those known already. */
  async function update(all: readonly Told[]): Promise<void> {
    if (all.length === 0) return;
    const known = await postgres.query<{ account: string; sealed: Buffer | null }>(
      `SELECT account, sealed FROM customers
       WHERE workspace = ANY($1::text[]) AND account = ANY($2::text[])`,
      [all.map(({ workspace }) => workspace), all.map(({ account }) => account)],
    );
    const sealed = new Map(known.map((row) => [row.account, row.sealed]));
    const changed = new Map<string, { row: object; after: Remembered }>();
    for (const told of all) {
      const { account, revision, news } = told;
      const before = sealed.get(account);
      if (before === undefined) continue;
      if (before === null) {
        remembered.set(account, { revision, record: null });
        continue;
      }
      const record = openRecord(vault, account, before);
      const after = { revision, record: news.reduce(withNews, record) };
      if (saysMore(after.record, record)) {
        const row = { ...rowOf(told, after.record), before: before.toString("hex") };
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
    async keep(told) {
      if (told.length === 0) return;
      const news = await newsIn(told);
      // In one order, so that processes do not wait for each other in a circle.
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

/** In the same statement: where a workspace was just told to keep nothing, nothing is kept. */
const insertSql = `INSERT INTO customers
    (account, workspace, environment, provider, id_hash, email_hash, sealed, told_at)
  SELECT told.account, told.workspace, told.environment, told.provider, told.id_hash,
    told.email_hash, decode(told.sealed, 'hex'), told.told_at
  FROM json_to_recordset($1::json) AS told (account text, workspace text, environment text,
    provider text, id_hash text, email_hash text, sealed text, told_at bigint)
  JOIN workspaces w ON w.id = told.workspace AND w.customer_details <> 'off'
  FOR SHARE OF w
  ON CONFLICT DO NOTHING
  RETURNING account`;

const updateSql = `UPDATE customers c
  SET id_hash = told.id_hash, email_hash = told.email_hash, sealed = decode(told.sealed, 'hex'),
    told_at = greatest(c.told_at, told.told_at)
  FROM json_to_recordset($1::json) AS told (workspace text, account text, id_hash text,
    email_hash text, sealed text, told_at bigint, before text)
  WHERE c.workspace = told.workspace AND c.account = told.account
    AND c.sealed = decode(told.before, 'hex')
  RETURNING c.account`;

/** Without the provider: one search is over all of them. */
export function idHash(hash: HashAccount, of: CustomerScope, id: string): string {
  return hash(of.workspace, of.environment, "customer id", id);
}

export function emailHash(hash: HashAccount, of: CustomerScope, email: string): string {
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
