/** `/healthz`, `/readyz`, `/metrics` (`definitions.md`, Settings): for machines, without a key. */
import type Router from "@koa/router";
import type { Service } from "../service.js";
import { unavailable } from "../schemas/http/errors.js";

export function healthRoutes(router: Router, { readiness }: Pick<Service, "readiness">): void {
  router.get("/healthz", (ctx) => {
    ctx.body = { status: "success" };
  });

  router.get("/readyz", async (ctx) => {
    const failing = await readiness.failing();
    if (failing.length > 0) throw unavailable("not_ready", `Not working: ${failing.join(", ")}.`);
    ctx.body = { status: "success" };
  });
}

export function metricsRoute(router: Router, { metrics }: Pick<Service, "metrics">): void {
  // As with `/readyz`: the gauges ask the log, and anybody may ask for them.
  let shown: Promise<string> | undefined;

  router.get("/metrics", async (ctx) => {
    ctx.type = metrics.registry.contentType;
    shown ??= metrics.registry.metrics().finally(() => {
      shown = undefined;
    });
    ctx.body = await shown;
  });
}
