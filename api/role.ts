/** The api role: everything that answers questions, and the live stream. */
import { openCatalogueView } from "../backends/catalogue-view.js";
import { completeToGauge } from "../backends/gauges.js";
import { requireKey } from "../backends/http/auth.js";
import { malformed } from "../backends/http/errors.js";
import type { LogUse } from "../backends/log.js";
import type { Service } from "../backends/service.js";
import { topics } from "../schemas/records.js";
import { createCursors } from "./cursors.js";
import { docsRoutes } from "./docs/routes.js";
import { createExports } from "./exports/send.js";
import { manageRoutes } from "./manage/routes.js";
import { eventsRoute } from "./routes/events.js";
import { cohortsRoute } from "./routes/cohorts.js";
import { movementsRoute } from "./routes/movements.js";
import { mrrRoute } from "./routes/mrr.js";
import { mrrChangesRoute } from "./routes/mrr-changes.js";
import { recordedMovementsRoute } from "./routes/recorded-movements.js";
import { productsRoute } from "./routes/products.js";
import { registryRoutes } from "./routes/registry.js";
import { revenueRoute } from "./routes/revenue.js";
import { summaryRoute } from "./routes/summary.js";
import { transactionRoute } from "./routes/transaction.js";
import { transactionsRoute } from "./routes/transactions.js";
import { openStream } from "./stream/stream.js";
import { streamPath } from "./stream/subscriber.js";

export const logUse: LogUse = {
  reads: [topics.raw, topics.incomplete, topics.facts, topics.transactions],
  // Rejects that are replayed.
  appends: [topics.raw],
  consumes: false,
};

export async function start(service: Service): Promise<void> {
  const { router } = service;
  const cursors = createCursors(service.vault);
  const catalogues = openCatalogueView(service.postgres, !service.log.shared);
  completeToGauge(service);
  const exports = createExports(service);
  mrrRoute(router, service);
  cohortsRoute(router, service, catalogues);
  movementsRoute(router, service, catalogues);
  revenueRoute(router, service, catalogues);
  summaryRoute(router, service, catalogues);
  productsRoute(router, service, cursors, catalogues);
  transactionsRoute(router, service, cursors, catalogues, exports);
  transactionRoute(router, service, catalogues);
  eventsRoute(router, service, catalogues);
  mrrChangesRoute(router, service, cursors, catalogues, exports);
  recordedMovementsRoute(router, service, cursors, catalogues, exports);
  router.use(manageRoutes(service, catalogues).routes());
  docsRoutes(router);
  registryRoutes(router, service);
  await openStream(service, cursors, catalogues);
  router.get(streamPath, requireKey(service, { scope: "read" }), () => {
    throw malformed("upgrade_required", "This path is a WebSocket; ask to upgrade.", "Upgrade");
  });
}
