/** Opens every backend of this process, by its settings; each registers its own release. */
import Router from "@koa/router";
import { type Config, ConfigError, embeddedBackends } from "../../config.js";
import { topics } from "../../schemas/records/records.js";
import { BackupRefused } from "../../stores/backup/manifest.js";
import { restoreUnderWay } from "../../stores/backup/restore.js";
import { noClickHouse } from "../../stores/clickhouse/unused.js";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import {
  type DataFolder,
  type Secrets,
  expectInstallation,
  openDataFolder,
} from "../../stores/data-folder.js";
import { LocalReceipts } from "../../stores/watermark/in-flight-receipts.js";
import { CallLimits } from "../../http/rate-limits.js";
import { openProviderApis } from "../../providers/api/provider-api.js";
import { openIntegrations } from "../../workspaces/integrations.js";
import { openKeys } from "../../workspaces/keys.js";
import { alone } from "../../stores/postgres/leases.js";
import type { Processes } from "../../stores/log/kafka/connection.js";
import type { LmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import type { Log, LogUse } from "../../stores/log/log.js";
import type { Logger } from "../logger.js";
import type { StartStep } from "./greeting.js";
import { refuseLostRows } from "./lost-rows.js";
import { openSessions } from "../../workspaces/members/sessions.js";
import { createMetrics } from "../metrics.js";
import { migrateClickHouse, migratePostgres } from "../../stores/migrations.js";
import { learnPreviousKeys } from "../../stores/vault/own-secrets.js";
import { openPostgres } from "../../stores/postgres/open.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { PublicSchemas, withWireFormat } from "../../stores/log/registry/public-schemas.js";
import { openRates } from "../../workspaces/rates/rates.js";
import { fenceBackends, openStateOnServers } from "./open-state.js";
import { openingStore, replayAll, restoreAll } from "./opening-store.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { Readiness } from "../readiness.js";
import type { Releases } from "../releases.js";
import { Registry } from "../../stores/log/registry/schema-registry.js";
import type { Service } from "../../service.js";
import { openSharedReceipts, silentProcesses } from "../../stores/watermark/shared-watermark.js";
import { takeExclusiveLease, type OthersRun } from "../../stores/postgres/exclusive-lease.js";
import { PersistedWatermark } from "../../stores/watermark/persisted-watermark.js";
import { embeddedTopicOptions, topicOptions } from "../../stores/log/topic-options.js";
import { openVault } from "../../stores/vault/vault.js";
import { Watermark } from "../../stores/watermark/watermark.js";

export interface OpenedService {
  readonly service: Service;
  /** Files with secrets that this start made, to be shown to the operator. */
  readonly made: readonly string[];
}

interface OpenOptions {
  readonly logger: Logger;
  readonly releases: Releases;
  /** For the command that continues a restore; anything else refuses a half-done one. */
  readonly restoring?: boolean;
  /** For a replay, which makes missing rows again. */
  readonly replaying?: boolean;
  /** No other process may have it open, on servers either. */
  readonly alone?: boolean;
  /** It must exist already. */
  readonly existing?: boolean;
  /** Nothing here reads or writes figures. */
  readonly withoutClickHouse?: boolean;
  /** Nothing here books or audits. */
  readonly withoutState?: boolean;
  /** What its user on Kafka needs rights for; left out: they are not checked. */
  readonly logUse?: LogUse | undefined;
  /** The process is to stop: nothing further is opened. */
  readonly stopping?: AbortSignal | undefined;
  readonly onStep?: (step: StartStep) => void;
}

/**
 * @throws ConfigError, DataFolderRefused, FolderLocked, MigrationRefused, BackupRefused, OthersRun,
 * RowsLost, ClockSetBack with a sentence for a person, AbortError when stopping; what was opened
 * until then is in `releases`.
 */
export async function openService(config: Config, given: OpenOptions): Promise<OpenedService> {
  const { logger, releases, restoring, withoutClickHouse, stopping } = given;
  if (given.existing) expectInstallation(config);
  const { vaultKey, adminToken, made, nextVaultKey } = openSecrets(config, logger, releases);
  const vault = openVault(vaultKey, config.VAULT_ENCRYPTION_KEY_PREVIOUS);
  if (nextVaultKey !== null) vault.learn(nextVaultKey);
  const opening = { config, logger, releases, stopping };
  const onStep = given.onStep ?? (() => undefined);
  onStep("database");
  const postgres = await openMetadata(opening);
  stopping?.throwIfAborted();
  const own = randomBase62(processNameLength);
  const processes = { own, silent: () => silentProcesses(postgres, own) };
  onStep("log");
  const log = await openLog(opening, processes, given.logUse);
  releases.push("log", () => log.close());
  stopping?.throwIfAborted();
  const readiness = new Readiness();
  const state =
    "state" in log
      ? log.state
      : await openStateOnServers({ ...opening, postgres, readiness, isUnused: given.withoutState });
  if (!restoring) await refuseHalfRestored(postgres);
  const onOthers = (why: OthersRun): void => endProcess(logger, why);
  const here = { process: own, postgres, logger, releases, onOthers };
  const sole = given.alone && log.shared ? await takeExclusiveLease(here) : null;
  // First, because a command that must be alone and a start have to see each other.
  const receipts = log.shared
    ? await openSharedReceipts({ ...here, config, now: Date.now })
    : await openLocalReceipts({ postgres, logger, config }, releases);
  await learnPreviousKeys(postgres, vault);
  onStep("tables");
  const clickhouse = withoutClickHouse ? noClickHouse : await openStore(opening, postgres);
  stopping?.throwIfAborted();
  if (!restoring) {
    const stores = { config, log, postgres, clickhouse: withoutClickHouse ? null : clickhouse };
    await refuseLostRows({ ...stores, replaying: given.replaying ?? false });
  }
  onStep("rates");
  const rates = await openRates({ postgres, config, logger, releases, shared: log.shared });
  const { SCHEMA_REGISTRY_URL: registryUrl } = config;
  const registry = registryUrl === undefined ? null : new Registry(registryUrl, logger);
  const publicSchemas = new PublicSchemas({
    postgres,
    registry,
    topicPrefix: config.KAFKA_TOPIC_PREFIX ?? "",
    logger,
  });

  readiness.add("log", () => log.ends(topics.raw));
  readiness.add("postgres", () => postgres.query("SELECT 1"));
  for (const node of clickhouse.nodes) readiness.add(node.name, () => node.rows("SELECT 1"));
  const { cluster } = clickhouse;
  if (cluster !== null) readiness.add("clickhouse cluster", () => cluster.check());
  const backends = { clickhouse, log, postgres };
  const used = sole === null ? backends : fenceBackends(backends, sole);
  const metrics = createMetrics();
  const service: Service = {
    config,
    logger,
    log: withWireFormat(used.log, publicSchemas),
    publicSchemas,
    clickhouse: used.clickhouse,
    postgres: used.postgres,
    state,
    vault,
    rates,
    watermark: new Watermark(log, Date.now, receipts),
    keys: openKeys({ postgres, logger }),
    sessions: openSessions({ postgres, vault, logger }),
    integrations: openIntegrations({ postgres, vault }),
    limits: new CallLimits(config),
    apis: openProviderApis(config, { metrics }),
    metrics,
    readiness,
    adminToken,
    releases,
    // As in URLs: /V1/ is another path than /v1/.
    router: new Router({ sensitive: true }),
    upgrades: new Map(),
  };
  return { service, made };
}

const processNameLength = 20;

/** At once, because what it would continue might be counted twice. */
function endProcess(logger: Logger, { message }: OthersRun): never {
  logger.fatal(message);
  process.exit(2);
}

async function openLocalReceipts(
  stores: Parameters<typeof PersistedWatermark.open>[0],
  releases: Releases,
) {
  const reported = await PersistedWatermark.open(stores, Date.now(), persistAheadMs);
  releases.push("time reported", () => reported.end());
  return new LocalReceipts(Date.now, reported);
}

/** Less than a start takes, so that no stamp after a crash is ahead of the clock. */
const persistAheadMs = 1_000;

async function refuseHalfRestored(postgres: Postgres): Promise<void> {
  if ((await restoreUnderWay(postgres)) === null) return;
  throw new BackupRefused(
    "A restore into this installation did not end. Run the same command again: " +
      "npm run ops -- restore --from <backup>",
  );
}

function openSecrets(
  config: Config,
  logger: Logger,
  releases: Releases,
): Pick<DataFolder, keyof Secrets | "made" | "nextVaultKey"> {
  if (embeddedBackends(config).length > 0) {
    const folder = openDataFolder(config);
    if (folder.isClosed) {
      const { path } = folder;
      logger.warn({ path }, "others could read the data folder; its mode is 700 now");
    }
    releases.push("data folder", folder.unlock);
    return folder;
  }
  // Without a folder of its own a process cannot keep secrets that it makes.
  const { VAULT_ENCRYPTION_KEY: vaultKey, ADMIN_TOKEN: adminToken } = config;
  if (vaultKey === undefined || adminToken === undefined) {
    throw new ConfigError([
      "VAULT_ENCRYPTION_KEY and ADMIN_TOKEN: must be set when every backend is a server; " +
        "make them with: openssl rand -hex 32",
    ]);
  }
  return { vaultKey, adminToken, made: [], nextVaultKey: null };
}

type Opening = Pick<OpenOptions, "logger" | "releases" | "stopping"> & { readonly config: Config };

async function openLog(
  { config, logger, stopping }: Opening,
  processes: Processes,
  use: LogUse | undefined,
): Promise<Log | LmdbLog> {
  if (config.KAFKA_BROKERS !== undefined) {
    const { openKafkaLog } = await import("../../stores/log/kafka/kafka-log.js");
    const { kafkaSettings } = await import("../../stores/log/kafka/settings.js");
    return openKafkaLog({
      settings: { ...kafkaSettings(config), processes },
      topicPrefix: config.KAFKA_TOPIC_PREFIX ?? "",
      replication: config.KAFKA_REPLICATION ?? null,
      topics: topicOptions(config, config.KAFKA_PARTITIONS),
      use,
      logger,
      stopping,
    });
  }
  const { openLmdbLog } = await import("../../stores/log/lmdb/lmdb-log.js");
  return openingStore(config, "log", restoreAll, async (path) =>
    openLmdbLog({
      path,
      topics: embeddedTopicOptions(config),
      logger,
    }),
  );
}

async function openMetadata(opening: Opening): Promise<Postgres> {
  const { config, logger, releases, stopping } = opening;
  const postgres =
    config.DATABASE_URL === undefined
      ? await openingStore(config, "postgres", restoreAll, (path) => openPostgres({ path }, logger))
      : await openPostgres({ url: config.DATABASE_URL, stopping }, logger);
  releases.push("postgres", () => postgres.close());
  await migratePostgres(postgres, logger);
  return postgres;
}

async function openStore(
  { config, logger, releases, stopping }: Opening,
  postgres: Postgres,
): Promise<ClickHouse> {
  const { CLICKHOUSE_URL: url } = config;
  const bounds = {
    memoryBytes: config.CLICKHOUSE_MEMORY_BYTES,
    threads: config.CLICKHOUSE_THREADS,
  };
  const clickhouse =
    url === undefined
      ? await openingStore(config, "clickhouse", replayAll, (path) =>
          openClickHouse({ ...bounds, path }),
        )
      : await openClickHouse({
          ...bounds,
          url,
          cluster: config.CLICKHOUSE_CLUSTER,
          shardUrls: config.CLICKHOUSE_SHARD_URLS?.split(","),
          stopping,
          logger,
        });
  releases.push("clickhouse", () => clickhouse.close());
  const migrate = (): Promise<void> => migrateClickHouse(clickhouse, logger);
  // Of processes that start together one migrates; the others find it done.
  if (embeddedBackends(config).length > 0) await migrate();
  else await alone(postgres, "ClickHouse migrations", migrate);
  return clickhouse;
}
