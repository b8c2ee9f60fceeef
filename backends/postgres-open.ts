/** The metadata store from its settings: a server when its URL is given, else the embedded one. */
import type { Logger } from "./logger.js";
import type { ServerOrigin } from "./postgres-server.js";
import type { Postgres } from "./postgres.js";

export type PostgresOrigin = { readonly path: string } | ServerOrigin;

/** Only the driver that is used is loaded: an image for servers has no embedded one. */
export async function openPostgres(origin: PostgresOrigin, logger: Logger): Promise<Postgres> {
  if ("url" in origin) {
    const { openServer } = await import("./postgres-server.js");
    return openServer(origin, logger);
  }
  const { openPglite } = await import("./postgres-pglite.js");
  return openPglite(origin.path);
}
