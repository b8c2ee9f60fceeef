/**
 * Metrics that are read when somebody asks for `/metrics`; the role that has them registers them.
 */
import { statfs } from "node:fs/promises";
import type { Config } from "../config.js";
import type { Topic } from "../schemas/records/records.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import { eachShard } from "../stores/clickhouse/cluster/shard-statements.js";
import type { Service } from "../service.js";
import { type Figures, groupsByTopic } from "../stores/watermark/watermark.js";

const secondsPerDay = 24 * 60 * 60;

export function ratesGauge({ metrics, rates }: Pick<Service, "metrics" | "rates">): void {
  metrics.gauge(
    "rates_age_seconds",
    "Time since the day of the newest quote of a source",
    "source",
    async () => {
      const days = Object.entries(rates.newestAgeDays());
      return Object.fromEntries(days.map(([source, age]) => [source, age * secondsPerDay]));
    },
  );
}

/** Of the disk under the data folder; a process on servers has none. */
export function diskGauge(metrics: Service["metrics"], { DATA_DIR }: Pick<Config, "DATA_DIR">) {
  metrics.gauge(
    "data_folder_disk_bytes",
    "Size of the disk that holds the data folder, and what is free of it",
    "kind",
    async () => {
      const { bavail, blocks, bsize } = await statfs(DATA_DIR);
      return { free: bavail * bsize, size: blocks * bsize };
    },
  );
}

/** For processes that report `complete_to` anyway, because finding it may read a lot. */
export function completeToGauge({ metrics, watermark }: Pick<Service, "metrics" | "watermark">) {
  const age = async (figures: Figures): Promise<number> =>
    Math.max(0, Date.now() - (await watermark.completeTo(figures))) / 1000;
  metrics.gauge(
    "complete_to_age_seconds",
    "Time since the receipt time up to which everything is booked",
    "figures",
    async () => ({
      transactions: await age("transactions"),
      all: await age("all"),
    }),
  );
}

/** For `processors` only: three roles that report the lag would add up to three. */
export function lagGauge({ config, log, metrics }: Pick<Service, "config" | "log" | "metrics">) {
  const topicPrefix = config.KAFKA_TOPIC_PREFIX ?? "";
  metrics.gauge(
    "consumer_lag_records",
    "Records a consumer group has not handled yet",
    "group",
    async () => {
      const lags: Record<string, number> = {};
      for (const [topic, group] of groupsByTopic) {
        // As Kafka's own tools name the group.
        lags[`${topicPrefix}${topic}.${group}`] = await lag(topic, group);
      }
      return lags;
    },
  );

  async function lag(topic: Topic, group: string): Promise<number> {
    const [ends, committed] = await Promise.all([log.ends(topic), log.committed(topic, group)]);
    return ends.reduce(
      (sum, end, partition) => sum + Number(end - (committed[partition] ?? 0n)),
      0,
    );
  }
}

/** Counted now and then, however often metrics are scraped. */
export function lackingEventsGauge(
  { metrics }: Pick<Service, "metrics">,
  lacking: () => Promise<Readonly<Record<string, number>>>,
) {
  const cache = new ExpiringCache({ ttlMs: lackingFreshMs, entriesMax: 1, load: lacking });
  metrics.gauge(
    "integrations_lacking_events",
    "Integrations that evidently lack event types which figures need, by provider",
    "provider",
    () => cache.get(""),
  );
}

const lackingFreshMs = 10 * 60 * 1000;

/** Endpoints by state, and what waits for those that are not disabled. */
export function webhookGauges({ metrics, postgres }: Pick<Service, "metrics" | "postgres">) {
  const one = (name: string, help: string, select: string): void =>
    metrics.gauge(name, help, "state", async () => {
      const rows = await postgres.query<{ state: string; found: number }>(select);
      return Object.fromEntries(rows.map(({ state, found }) => [state, found]));
    });
  const stateOf =
    "CASE WHEN disabled_at IS NOT NULL THEN 'disabled' " +
    "WHEN failures > 0 THEN 'failing' ELSE 'well' END";
  one(
    "webhook_endpoints",
    "Endpoints of outgoing webhooks: well, failing, disabled",
    `SELECT ${stateOf} AS state, count(*)::int AS found FROM webhook_endpoints GROUP BY 1`,
  );
  one(
    "webhook_pending_deliveries",
    "Deliveries that wait, by the state of their endpoint",
    `SELECT ${stateOf} AS state, count(*)::int AS found FROM webhook_deliveries d
       JOIN webhook_endpoints e ON e.id = d.endpoint WHERE d.state = 'pending' GROUP BY 1`,
  );
}

/** A gauge, not a counter: what waits for a person stays visible over a restart. */
export function rejectsGauge({ clickhouse, metrics }: Pick<Service, "clickhouse" | "metrics">) {
  metrics.gauge(
    "open_rejects",
    "Events that could not be booked and wait, by reason",
    "reason",
    async () => {
      const open = "SELECT reason FROM rejects FINAL WHERE state = 'open'";
      const rows = await clickhouse.rows<{ reason: string; open: string }>(
        `SELECT reason, count() AS open FROM ${eachShard(open)} GROUP BY reason`,
      );
      return Object.fromEntries(rows.map(({ reason, open: count }) => [reason, Number(count)]));
    },
  );
}
