/** The metadata store: a server when its URL is given, else the embedded one. */
import type { Logger } from "../../runtime/logger.js";
import type { ServerOrigin } from "./server.js";
import type { Postgres } from "./postgres.js";

export type PostgresOrigin = { readonly path: string } | ServerOrigin;

/** Only the driver that is used is loaded: an image for servers lacks the embedded one. */
export async function openPostgres(origin: PostgresOrigin, logger: Logger): Promise<Postgres> {
  if ("url" in origin) {
    const { openServer } = await import("./server.js");
    return openServer(origin, logger);
  }
  const { openPglite } = await import("./pglite.js");
  return openPglite(origin.path);
}
