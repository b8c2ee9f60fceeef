/** The app around some routes, on a port of its own for as long as it is used. */
import type Router from "@koa/router";
import { createApp, type Trust } from "../../http/app.js";
import { CallLimits } from "../../http/rate-limits.js";
import { createHttpServer } from "../../http/server.js";
import type { Logger } from "../../runtime/logger.js";
import { createMetrics } from "../../runtime/metrics.js";
import { listen } from "./loopback.js";

export async function withApp(
  router: Router,
  logger: Logger,
  use: (base: string) => Promise<void>,
  config: Trust = { TRUST_PROXY: "off" },
): Promise<void> {
  const limits = new CallLimits({ RATE_LIMIT_PER_KEY: 5, RATE_LIMIT_REFUSED: 5 });
  const app = createApp({ config, limits, logger, metrics: createMetrics(), router });
  const { url, close } = await listen(createHttpServer(app, { config, logger }));
  try {
    await use(url);
  } finally {
    await close();
  }
}
