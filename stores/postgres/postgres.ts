import { bulkhead } from "cockatiel";

/**
 * The metadata store port: workspaces, keys, integrations, catalogue, rates. PGlite or Postgres.
 *
 * Columns come the same from both: int8 (also `count(*)`) as bigint, numeric as text, date as
 * `YYYY-MM-DD` text, timestamptz as Date, bytea as Buffer, json and jsonb parsed, text[] as an
 * array (other arrays differ: cast them). Values go in the same ways; what is meant for a json
 * column as `JSON.stringify` text.
 *
 * @throws PostgresUnavailable from everything when a server is away; anything else is our mistake
 */
export interface Postgres {
  /**
   * One statement with `$1` placeholders; resolves to its rows. Its writes survive the end of the
   * process, but on the embedded engine not a power cut: use `transaction` for that.
   */
  query<T>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /**
   * All or nothing, and durable when it resolves; the callback's rejection rolls back. The callback
   * uses only the `sql` it is given: on the embedded engine any other query waits for its end.
   */
  transaction<T>(run: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/** The database, or a transaction in it. */
export type Sql = Pick<Postgres, "query">;

export interface TransactionOptions {
  /** Statements and their waits for locks have no time limit. Default: false. */
  readonly isUnhurried?: boolean;
}

/** The server does not answer now, or not in time; the statement may or may not have run. */
export class PostgresUnavailable extends Error {
  override readonly name = "PostgresUnavailable";
}

/** How columns become values where the drivers differ. */
export const columns = {
  int8: (text: string): bigint => BigInt(text),
  date: (text: string): string => text,
  /** `\x` and hexadecimal digits. */
  bytea: (text: string): Buffer => Buffer.from(text.slice(2), "hex"),
} as const;

/**
 * A share of Postgres' connections, for work that comes in crowds. At most `connectionsMax` at a
 * time. Further calls wait here, however long, and neither block others in the pool nor fail after
 * `limits.postgresConnectMsMax`.
 */
export function shareOf(postgres: Postgres, connectionsMax: number): Postgres {
  const turns = bulkhead(connectionsMax, Number.POSITIVE_INFINITY);
  return {
    ...postgres,
    query: (sql, values) => turns.execute(() => postgres.query(sql, values)),
    transaction: (run, options) => turns.execute(() => postgres.transaction(run, options)),
  };
}
