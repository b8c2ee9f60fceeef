/** `/healthz`, `/readyz`, `/metrics` (`definitions.md`, Settings): for machines, without a key. */
import type Router from "@koa/router";
import type { Topic } from "../../schemas/records.js";
import type { Service } from "../service.js";
import { type Figures, passages } from "../watermark.js";
import { unavailable } from "./errors.js";

export function healthRoutes(
  router: Router,
  service: Pick<Service, "log" | "metrics" | "rates" | "readiness">,
): void {
  gauges(service);
  // As with `/readyz`: the gauges ask the log, and anybody may ask for them.
  let shown: Promise<string> | undefined;

  router.get("/healthz", (ctx) => {
    ctx.body = { status: "success" };
  });

  router.get("/readyz", async (ctx) => {
    const failing = await service.readiness.failing();
    if (failing.length > 0) throw unavailable("not_ready", `Not working: ${failing.join(", ")}.`);
    ctx.body = { status: "success" };
  });

  router.get("/metrics", async (ctx) => {
    ctx.type = service.metrics.registry.contentType;
    shown ??= service.metrics.registry.metrics().finally(() => {
      shown = undefined;
    });
    ctx.body = await shown;
  });
}

/** For the processes that tell `complete_to` anyhow: far behind, finding it reads a lot. */
export function completeToGauge({ metrics, watermark }: Pick<Service, "metrics" | "watermark">) {
  const age = async (figures: Figures): Promise<number> =>
    Math.max(0, Date.now() - (await watermark.completeTo(figures))) / 1000;
  metrics.gauge(
    "complete_to_age_seconds",
    "Seconds since the receipt time up to which everything is booked",
    "figures",
    async () => ({
      transactions: await age("transactions"),
      money: await age("money"),
      all: await age("all"),
    }),
  );
}

function gauges({ log, metrics, rates }: Pick<Service, "log" | "metrics" | "rates">): void {
  metrics.gauge(
    "consumer_lag_records",
    "Records a consumer has yet to handle",
    "group",
    async () => {
      const lags: Record<string, number> = {};
      for (const [topic, group] of passages) lags[group] = await lag(topic, group);
      return lags;
    },
  );
  metrics.gauge("rates_age_days", "Days since the newest quote of a source", "source", () =>
    Promise.resolve(rates.newestAgeDays()),
  );

  async function lag(topic: Topic, group: string): Promise<number> {
    const [ends, committed] = await Promise.all([log.ends(topic), log.committed(topic, group)]);
    return ends.reduce(
      (sum, end, partition) => sum + Number(end - (committed[partition] ?? 0n)),
      0,
    );
  }
}
