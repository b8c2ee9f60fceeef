/** The metadata store from its settings: a server when its URL is given, else the embedded one. */
import type { Logger } from "./logger.js";
import { openPglite } from "./postgres-pglite.js";
import { type ServerOrigin, openServer } from "./postgres-server.js";
import type { Postgres } from "./postgres.js";

export type PostgresOrigin = { readonly path: string } | ServerOrigin;

export function openPostgres(origin: PostgresOrigin, logger: Logger): Promise<Postgres> {
  return "url" in origin ? openServer(origin, logger) : openPglite(origin.path);
}
