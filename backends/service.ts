/** What every role is given: the open backends of this process. Made by `openService`. */
import type Router from "@koa/router";
import type { Config } from "../config.js";
import type { ClickHouse } from "./clickhouse.js";
import type { Log } from "./log.js";
import type { Logger } from "./logger.js";
import type { Postgres } from "./postgres.js";
import type { Rates } from "./rates.js";
import type { Releases } from "./releases.js";
import type { Vault } from "./vault.js";
import type { Watermark } from "./watermark.js";

export interface Service {
  readonly config: Config;
  readonly logger: Logger;
  readonly log: Log;
  readonly clickhouse: ClickHouse;
  readonly postgres: Postgres;
  readonly vault: Vault;
  readonly rates: Rates;
  readonly watermark: Watermark;
  /** Whatever is acquired registers its release on the same line; run in reverse at stop. */
  readonly releases: Releases;
  /** The role's HTTP routes. */
  readonly router: Router;
}
