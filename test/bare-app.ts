/** The app around some routes, on a port of its own for as long as it is used. */
import { once } from "node:events";
import type Router from "@koa/router";
import { createApp } from "../backends/http/app.js";
import { CallLimits } from "../backends/http/limits.js";
import { createHttpServer } from "../backends/http/server.js";
import type { Logger } from "../backends/logger.js";
import { createMetrics } from "../backends/metrics.js";

export async function withApp(
  router: Router,
  logger: Logger,
  use: (base: string) => Promise<void>,
): Promise<void> {
  const limits = new CallLimits({ RATE_LIMIT_PER_KEY: 5, RATE_LIMIT_REFUSED: 5 });
  const app = createApp({ limits, logger, metrics: createMetrics(), router });
  const server = createHttpServer(app).listen(0);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not on a port");
  try {
    await use(`http://localhost:${address.port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
