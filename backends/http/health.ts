/** `/healthz`, `/readyz`, `/metrics` (`definitions.md`, Settings): for machines, without a key. */
import type Router from "@koa/router";
import type { Service } from "../service.js";
import { unavailable } from "./errors.js";

export function healthRoutes(
  router: Router,
  service: Pick<Service, "metrics" | "readiness">,
): void {
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
    ctx.body = await service.metrics.registry.metrics();
  });
}
