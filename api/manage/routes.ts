/**
 * The management interface under `/v1/manage/` (`definitions.md`): for the administrator token and
 * sessions of the dashboard. One file for each thing managed.
 */
import Router from "@koa/router";
import type { Context } from "koa";
import type { CatalogueView } from "../../workspaces/catalogue/view.js";
import { notFound } from "../../schemas/http/errors.js";
import { createProviders } from "../../providers/index.js";
import type { Service } from "../../service.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import { type Workspace, findWorkspace } from "../../workspaces/workspaces.js";
import { createCursors } from "../reading/cursors.js";
import { activityRoutes } from "./activity.js";
import { alertRoutes } from "../alerts/manage.js";
import { annotationRoutes } from "./annotations.js";
import { assistantRoutes } from "../oauth/connect.js";
import { openCoverage } from "../../workspaces/history/coverage.js";
import { openNeededEvents } from "../../workspaces/needed-events.js";
import { attentionRoutes } from "./attention.js";
import { auditRoutes } from "./audits.js";
import { backfillRoutes } from "./integrations/backfill.js";
import { exportRoutes } from "./integrations/export.js";
import { reportRoutes } from "./integrations/reports.js";
import { reconciliationRoutes } from "./integrations/reconciliation.js";
import { payoutRoutes } from "./integrations/payouts.js";
import { backupRoutes } from "./backups.js";
import { chatRoutes } from "./chat.js";
import { Calls } from "./calls.js";
import { digestRoutes } from "../digests/manage.js";
import { proofManageRoutes } from "../proofs/manage.js";
import type { Proofs } from "../proofs/routes.js";
import type { Reads } from "../reading/in-process.js";
import { demoRoutes } from "./demo/routes.js";
import { goalRoutes } from "./goals.js";
import { customerRoutes } from "./customers.js";
import { integrationRoutes } from "./integrations/routes.js";
import { keyRoutes } from "./keys.js";
import { memberRoutes } from "./members.js";
import { productRoutes } from "./products.js";
import { providerRoutes } from "./integrations/providers.js";
import { ratesRoutes } from "./rates.js";
import { rejectRoutes } from "./rejects.js";
import { savedViewRoutes } from "./saved-views.js";
import { webhookRoutes } from "./webhooks/routes.js";
import { segmentRoutes } from "../segments/manage.js";
import { workspaceRoutes } from "./workspaces.js";

export function manageRoutes(
  service: Service,
  catalogues: CatalogueView,
  reads: Reads,
  proofs: Proofs,
  hashAccount: HashAccount,
): Router {
  const router = new Router({ prefix: "/v1/manage", sensitive: true });
  const cursors = createCursors(service.vault);
  const providers = createProviders(service.config);
  const installation = new Calls(router, service, cursors, "", async () => null);
  const workspace = new Calls(router, service, cursors, "/workspaces/:workspace", workspaceOf);
  workspaceRoutes(service, installation, workspace);
  keyRoutes(service, workspace);
  providerRoutes(installation, providers);
  const neededOf = openNeededEvents({ ...service, providers });
  integrationRoutes(service, workspace, cursors, providers, neededOf);
  const coverageOf = openCoverage(service);
  backfillRoutes(service, workspace, providers, coverageOf);
  exportRoutes(service, workspace, providers);
  reportRoutes(service, workspace, providers);
  reconciliationRoutes(service, workspace, providers);
  payoutRoutes(service, workspace, providers);
  productRoutes(service, workspace, cursors, catalogues);
  rejectRoutes(service, workspace, cursors);
  attentionRoutes(service, workspace, { neededOf, coverageOf, providers });
  memberRoutes(service, workspace);
  assistantRoutes(service, workspace);
  activityRoutes(service, installation, workspace);
  savedViewRoutes(service, workspace);
  alertRoutes(service, workspace, reads);
  chatRoutes(service, workspace);
  annotationRoutes(service, workspace);
  goalRoutes(service, workspace);
  segmentRoutes(service, workspace, hashAccount);
  digestRoutes(service, workspace, reads);
  webhookRoutes(service, workspace, cursors);
  proofManageRoutes(proofs, installation, workspace);
  customerRoutes(service, workspace);
  auditRoutes(service, installation, cursors);
  ratesRoutes(service, installation);
  backupRoutes(service, installation);
  demoRoutes(service, installation);
  return router;

  /** @throws ApiError 404 */
  async function workspaceOf(ctx: Context): Promise<Workspace> {
    const found = await findWorkspace(service.postgres, String(ctx.params.workspace));
    if (found === null) throw notFound("workspace_unknown", "There is no such workspace.");
    return found;
  }
}
