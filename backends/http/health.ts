/** `/healthz`, `/readyz`, `/metrics` (`definitions.md`, Settings): for machines, without a key. */
import type Router from "@koa/router";
import { type Topic, topics } from "../../schemas/records.js";
import type { Service } from "../service.js";
import { groups } from "../watermark.js";
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

function gauges({ log, metrics, rates }: Pick<Service, "log" | "metrics" | "rates">): void {
  metrics.gauge(
    "consumer_lag_records",
    "Records a consumer has yet to handle",
    "group",
    async () => ({
      [groups.normalize]: await lag(topics.raw, groups.normalize),
      [groups.complete]: await lag(topics.incomplete, groups.complete),
      [groups.adorn]: await lag(topics.incomplete, groups.adorn),
      [groups.money]: await lag(topics.facts, groups.money),
      [groups.subscriptions]: await lag(topics.facts, groups.subscriptions),
    }),
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
