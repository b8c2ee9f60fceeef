/**
 * The management interface under `/v1/manage/` (`definitions.md`): for the administrator token
 * only. One file for each thing managed.
 */
import Router from "@koa/router";
import type { Context, Next } from "koa";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireAdministrator } from "../../http/auth.js";
import { jsonBody } from "../../http/body.js";
import { refuseParameters } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { createProviders } from "../../providers/index.js";
import { createCursors } from "../reading/cursors.js";
import { backfillRoutes } from "./backfill.js";
import { auditRoutes } from "./audits.js";
import { backupRoutes } from "./backups.js";
import { integrationRoutes } from "./integrations.js";
import { keyRoutes } from "./keys.js";
import { productRoutes } from "./products.js";
import { providerRoutes } from "./providers.js";
import { rejectRoutes } from "./rejects.js";
import { workspaceRoutes } from "./workspaces.js";

export function manageRoutes(service: Service, catalogues: CatalogueView): Router {
  const router = new Router({ prefix: "/v1/manage", sensitive: true });
  const cursors = createCursors(service.vault);
  workspaceRoutes(router, service, cursors);
  keyRoutes(router, service, cursors);
  const providers = createProviders(service.config);
  providerRoutes(router, providers);
  integrationRoutes(router, service, cursors, providers);
  backfillRoutes(router, service, providers);
  productRoutes(router, service, cursors, catalogues);
  rejectRoutes(router, service, cursors);
  auditRoutes(router, service, cursors);
  backupRoutes(router, service);
  // Part of each route: `router.use` would match the path once more, and by rules of its own.
  const guard = [requireAdministrator(service), noParameters, jsonBody()];
  for (const route of router.stack) route.stack.unshift(...guard);
  return router;
}

/** What changes something is told all of it by the path and the body. */
async function noParameters(ctx: Context, next: Next): Promise<void> {
  if (ctx.method !== "GET" && ctx.method !== "HEAD") refuseParameters(ctx);
  await next();
}
