/** The role `api`: everything that answers questions, and the live stream. */
import { openCatalogueView } from "../workspaces/catalogue/view.js";
import { completeToGauge, webhookGauges } from "../http/gauges.js";
import { limits } from "../config.js";
import { requireKey } from "../http/auth.js";
import { malformed } from "../schemas/http/errors.js";
import { Turns } from "../http/turns.js";
import type { LogUse } from "../stores/log/log.js";
import { createProviders } from "../providers/index.js";
import type { Service } from "../service.js";
import { groups } from "../stores/watermark/watermark.js";
import { topics } from "../schemas/records/records.js";
import { accountHasher } from "../stores/vault/account-hash.js";
import type { Reads } from "./reading/in-process.js";
import { AnswerWriter } from "./answers/writer.js";
import { createCursors } from "./reading/cursors.js";
import { startAlerts } from "./alerts/run.js";
import { startDigests } from "./digests/run.js";
import { Unsubscribing, unsubscribeRoutes } from "./digests/unsubscribe.js";
import { docsRoutes } from "./docs/routes.js";
import { createExports } from "./exports/send.js";
import { dashboardRoutes } from "./dashboard.js";
import { manageRoutes } from "./manage/routes.js";
import { eventsRoute } from "./events/route.js";
import { accountRoute } from "./accounts/details.js";
import { accountsRoute } from "./accounts/route.js";
import { cohortsRoute } from "./cohorts/route.js";
import { countriesRoute } from "./countries/route.js";
import { movementsRoute } from "./movement-series/route.js";
import { failedPaymentsRoute } from "./failed-payments/route.js";
import { mcpRoute } from "./mcp/route.js";
import { connectRoutes } from "./oauth/connect.js";
import { oauthRoutes } from "./oauth/routes.js";
import { mrrRoute } from "./mrr/route.js";
import { mrrChangesRoute } from "./mrr-changes/route.js";
import { mrrCompareRoute } from "./mrr-compare/route.js";
import { whatChangedRoute } from "./what-changed/route.js";
import { recordedMovementsRoute } from "./recorded-movements/route.js";
import { productsRoute } from "./products/route.js";
import { ratesRoute } from "./rates/route.js";
import { Proofs, proofRoutes } from "./proofs/routes.js";
import { registryRoutes } from "./registry/route.js";
import { revenueRoute } from "./revenue/route.js";
import { summaryRoute } from "./summary/route.js";
import { trialsRoute } from "./trials/route.js";
import { transactionRoute } from "./transaction/route.js";
import { transactionsRoute } from "./transactions/route.js";
import { Segments } from "./segments/resolve.js";
import { sessionRoutes } from "./session/routes.js";
import { openStream } from "./stream/stream.js";
import { streamPath } from "./stream/subscriber.js";
import { startSending } from "./webhooks/send.js";
import { watchSilence } from "./webhooks/silence.js";
import { takeIn } from "./webhooks/take-in.js";

export const logUse: LogUse = {
  reads: [
    topics.raw,
    topics.incomplete,
    topics.facts,
    topics.transactions,
    topics.movements,
    topics.rejected,
  ],
  // Rejects that are replayed.
  appends: [topics.raw],
  consumes: [groups.webhooks],
};

const readRoutes = [
  mrrRoute,
  cohortsRoute,
  countriesRoute,
  movementsRoute,
  revenueRoute,
  summaryRoute,
  ratesRoute,
  trialsRoute,
  failedPaymentsRoute,
  productsRoute,
  transactionsRoute,
  transactionRoute,
  accountsRoute,
  accountRoute,
  mrrChangesRoute,
  mrrCompareRoute,
  whatChangedRoute,
  recordedMovementsRoute,
];

export async function start(service: Service): Promise<void> {
  const { router } = service;
  const cursors = createCursors(service.vault);
  const catalogues = openCatalogueView(service.postgres, !service.log.shared);
  completeToGauge(service);
  const exports = createExports(service);
  const answers = new AnswerWriter();
  service.releases.push("answers", () => answers.close());
  const turns = new Turns({
    running: service.clickhouse.isShared ? limits.readsAtOnceMax : limits.embeddedReadsAtOnceMax,
    waiting: limits.readsWaitingMax,
  });
  const hashAccount = await accountHasher(service.postgres, service.vault);
  const { postgres, vault } = service;
  const providers = createProviders(service.config);
  const customers = { postgres, vault, providers, hashAccount };
  const reads: Reads = new Map();
  const api = {
    router,
    service,
    cursors,
    catalogues,
    exports,
    answers,
    turns,
    hashAccount,
    customers,
    reads,
    segments: new Segments(postgres),
  };
  for (const route of readRoutes) route(api);
  eventsRoute(router, service, catalogues);
  const proofs = new Proofs(service, reads);
  router.use(manageRoutes(service, catalogues, reads, proofs, hashAccount).routes());
  proofRoutes(router, proofs);
  await sessionRoutes(router, service);
  dashboardRoutes(router, service);
  docsRoutes(router);
  mcpRoute(router, service);
  oauthRoutes(router, service);
  connectRoutes(router, service);
  const unsubscribing = await Unsubscribing.open(service);
  unsubscribeRoutes(router, service, unsubscribing);
  startAlerts(service, reads, unsubscribing);
  startDigests(service, reads, unsubscribing);
  takeIn(service, catalogues);
  startSending(service);
  watchSilence(service);
  webhookGauges(service);
  registryRoutes(router, service);
  await openStream(service, cursors, catalogues);
  router.get(streamPath, requireKey(service, { scope: "read" }), () => {
    throw malformed("upgrade_required", "This path is a WebSocket; ask to upgrade.", "Upgrade");
  });
}
