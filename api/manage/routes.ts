/**
 * The management interface under `/v1/manage/` (`definitions.md`): for the administrator token and
 * sessions of the dashboard. One file for each thing managed.
 */
import { createProviders } from "../../providers/index.js";
import type { Service } from "../../service.js";
import { RunningBackups } from "../../stores/backup/running.js";
import { openCoverage } from "../../workspaces/history/coverage.js";
import { openNeededEvents } from "../../workspaces/needed-events.js";
import { alertRoutes } from "../alerts/manage.js";
import { digestRoutes } from "../digests/manage.js";
import { assistantRoutes } from "../oauth/connect.js";
import { manageProofRoutes, proofKeyRoutes } from "../proofs/manage.js";
import { segmentRoutes } from "../segments/manage.js";
import { activityRoutes, installationActivityRoutes } from "./activity.js";
import { annotationRoutes } from "./annotations.js";
import { attentionRoutes, openAttention } from "./attention.js";
import { auditRoutes } from "./audits.js";
import { backupRoutes, lastBackupRoutes } from "./backups.js";
import type { Manage } from "./calls.js";
import { chatRoutes } from "./chat.js";
import { customerRoutes } from "./customers.js";
import { DemoProcess } from "./demo/process.js";
import { demoRoutes } from "./demo/routes.js";
import { goalRoutes } from "./goals.js";
import { backfillRoutes, coverageRoutes } from "./integrations/backfill.js";
import { exportRoutes } from "./integrations/export.js";
import { payoutRoutes } from "./integrations/payouts.js";
import { providerRoutes } from "./integrations/providers.js";
import { reconciliationRoutes } from "./integrations/reconciliation.js";
import { reportRoutes } from "./integrations/reports.js";
import { integrationRoutes } from "./integrations/routes.js";
import { keyRoutes } from "./keys.js";
import { invitationRoutes, memberRoutes } from "./members.js";
import { productRoutes, undoRoutes } from "./products.js";
import { ratesRoutes } from "./rates.js";
import { rejectRoutes } from "./rejects.js";
import { savedViewRoutes } from "./saved-views.js";
import { webhookRoutes } from "./webhooks/routes.js";
import { workspaceRoutes } from "./workspaces.js";

/** In the order of the OpenAPI document. */
export const manageRoutes = [
  ...providerRoutes,
  ...workspaceRoutes,
  ...installationActivityRoutes,
  ...auditRoutes,
  ...ratesRoutes,
  ...backupRoutes,
  ...demoRoutes,
  ...proofKeyRoutes,
  ...lastBackupRoutes,
  ...keyRoutes,
  ...integrationRoutes,
  ...backfillRoutes,
  ...exportRoutes,
  ...reportRoutes,
  ...coverageRoutes,
  ...reconciliationRoutes,
  ...payoutRoutes,
  ...productRoutes,
  ...attentionRoutes,
  ...rejectRoutes,
  ...invitationRoutes,
  ...assistantRoutes,
  ...memberRoutes,
  ...activityRoutes,
  ...undoRoutes,
  ...savedViewRoutes,
  ...annotationRoutes,
  ...goalRoutes,
  ...segmentRoutes,
  ...digestRoutes,
  ...alertRoutes,
  ...chatRoutes,
  ...manageProofRoutes,
  ...customerRoutes,
  ...webhookRoutes,
];

export function openManage(
  service: Service,
  api: Pick<Manage, "cursors" | "catalogues" | "reads" | "hashAccount" | "proofs">,
): Manage {
  const providers = createProviders(service.config);
  const neededOf = openNeededEvents({ ...service, providers });
  const coverageOf = openCoverage(service);
  const demo = new DemoProcess(service.config.DATA_DIR);
  service.releases.push("demo", () => demo.end());
  return {
    ...service,
    ...api,
    providers,
    neededOf,
    coverageOf,
    attentionOf: openAttention(service, { neededOf, coverageOf, providers }),
    backups: new RunningBackups(service),
    demo,
  };
}
