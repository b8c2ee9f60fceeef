/** The metadata store port: workspaces, keys, integrations, catalogue, rates. PGlite or Postgres. */
export interface Postgres {
  /** One statement with `$1` placeholders; resolves to its rows. */
  query<T>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /** All or nothing; the callback's rejection rolls back. */
  transaction<T>(run: (sql: Pick<Postgres, "query">) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
