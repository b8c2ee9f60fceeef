/** What every role is given: the open backends of this process. Made by `openService`. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type Router from "@koa/router";
import type { Config } from "./config.js";
import type { ClickHouse } from "./stores/clickhouse/clickhouse.js";
import type { CallLimits } from "./http/rate-limits.js";
import type { Integrations } from "./workspaces/integrations.js";
import type { Keys } from "./workspaces/keys.js";
import type { Log } from "./stores/log/log.js";
import type { Logger } from "./runtime/logger.js";
import type { State } from "./stores/state/state.js";
import type { Sessions } from "./workspaces/members/sessions.js";
import type { Metrics } from "./runtime/metrics.js";
import type { Postgres } from "./stores/postgres/postgres.js";
import type { ProviderApis } from "./providers/api/provider-api.js";
import type { PublicSchemas } from "./stores/log/registry/public-schemas.js";
import type { Rates } from "./workspaces/rates/rates.js";
import type { Readiness } from "./runtime/readiness.js";
import type { Releases } from "./runtime/releases.js";
import type { Vault } from "./stores/vault/vault.js";
import type { Watermark } from "./stores/watermark/watermark.js";

export interface Service {
  readonly config: Config;
  readonly logger: Logger;
  /** Its public topics are in the Confluent wire format: `withWireFormat(log, publicSchemas)`. */
  readonly log: Log;
  /** What the messages there are written by; `announce()` before the first one. */
  readonly publicSchemas: PublicSchemas;
  readonly clickhouse: ClickHouse;
  readonly postgres: Postgres;
  /** What booking knows and has yet to write. */
  readonly state: State;
  readonly vault: Vault;
  readonly rates: Rates;
  readonly watermark: Watermark;
  /** Look-ups of API keys, cached: `openKeys({ postgres, logger })`. */
  readonly keys: Keys;
  /** Look-ups of the dashboard's sessions, cached: `openSessions({ postgres, vault, logger })`. */
  readonly sessions: Sessions;
  /** Look-ups of webhook tokens, cached: `openIntegrations({ postgres, vault })`. */
  readonly integrations: Integrations;
  /** Calls of providers' APIs; all roles of a process keep to one rate: `openProviderApis()`. */
  readonly apis: ProviderApis;
  /** How often calls are answered: `new CallLimits(config)`. */
  readonly limits: CallLimits;
  /** What `/metrics` shows: `createMetrics()`. */
  readonly metrics: Metrics;
  /** What `/readyz` asks: `new Readiness()`. */
  readonly readiness: Readiness;
  /** Opens the management interface; `ADMIN_TOKEN` or the one in the data folder. */
  readonly adminToken: string;
  /** Every resource registers its release where it is acquired; releases run in reverse at stop. */
  readonly releases: Releases;
  /** The role's HTTP routes. */
  readonly router: Router;
  /** By path: what takes a connection that asks for another protocol (a WebSocket). */
  readonly upgrades: Map<string, Upgrade>;
}

/** Answers the request itself, errors included; `head` is what was read beyond the headers. */
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
