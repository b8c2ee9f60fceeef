/** The role `api`: everything that answers questions, and the live stream. */
import { openCatalogueView } from "../workspaces/catalogue/view.js";
import { completeToGauge, webhookGauges } from "../http/gauges.js";
import { limits } from "../config.js";
import { Turns } from "../http/turns.js";
import type { LogUse } from "../stores/log/log.js";
import { createProviders } from "../providers/index.js";
import type { Service } from "../service.js";
import { groups } from "../stores/watermark/watermark.js";
import { topics } from "../schemas/records/records.js";
import { accountHasher } from "../stores/vault/account-hash.js";
import type { Reads } from "./reading/in-process.js";
import type { ReadApi } from "./reading/routes.js";
import { AnswerWriter } from "./answers/writer.js";
import { createCursors } from "./reading/cursors.js";
import { startAlerts } from "./alerts/run.js";
import { startDigests } from "./digests/run.js";
import { Unsubscribing, unsubscribeRoutes } from "./digests/unsubscribe.js";
import { docsRoutes } from "./docs/routes.js";
import { createExports } from "./exports/send.js";
import { dashboardRoutes } from "./dashboard.js";
import { manageRoutes, openManage } from "./manage/routes.js";
import { mcpRoute } from "./mcp/route.js";
import { oauthRoutes } from "./oauth/routes.js";
import { Proofs, proofRoutes } from "./proofs/routes.js";
import { registryRoutes } from "./registry/route.js";
import { Segments } from "./segments/resolve.js";
import { openSignIn, sessionRoutes } from "./session/routes.js";
import { readRoutes } from "./read-routes.js";
import { mount } from "./route.js";
import { openStream } from "./stream/stream.js";
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
  const api: ReadApi = {
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
  mount(router, readRoutes, api);
  const proofs = new Proofs(service, reads);
  mount(router, manageRoutes, openManage(service, { ...api, proofs }));
  proofRoutes(router, proofs);
  mount(router, sessionRoutes, await openSignIn(service));
  dashboardRoutes(router, service);
  docsRoutes(router);
  mcpRoute(router, service);
  oauthRoutes(router, service);
  const unsubscribing = await Unsubscribing.open(service);
  unsubscribeRoutes(router, service, unsubscribing);
  startAlerts(service, reads, unsubscribing);
  startDigests(service, reads, unsubscribing);
  takeIn(service, catalogues);
  startSending(service);
  watchSilence(service);
  webhookGauges(service);
  mount(router, registryRoutes, service);
  await openStream(service, cursors, catalogues);
}
