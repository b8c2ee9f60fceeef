/**
 * The management interface under `/v1/manage/` (`definitions.md`): for the administrator token and
 * sessions of the dashboard. One file for each thing managed; calls.ts says who may do what.
 */
import Router, { type Layer } from "@koa/router";
import type { Context, Middleware, Next } from "koa";
import { z } from "zod";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireRight } from "../../http/auth.js";
import { jsonBody } from "../../http/body.js";
import { refuseParameters } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { recordActivity } from "../../members/activity.js";
import { actorOf } from "../../http/state.js";
import { createProviders } from "../../providers/index.js";
import { createCursors } from "../reading/cursors.js";
import { backfillRoutes } from "./backfill.js";
import { activityRoutes } from "./activity.js";
import { annotationRoutes } from "./annotations.js";
import { auditRoutes } from "./audits.js";
import { backupRoutes } from "./backups.js";
import { type ManageCall, manageCalls } from "./calls.js";
import { integrationRoutes } from "./integrations.js";
import { keyRoutes } from "./keys.js";
import { memberRoutes } from "./members.js";
import { productRoutes } from "./products.js";
import { providerRoutes } from "./providers.js";
import { ratesRoutes } from "./rates.js";
import { rejectRoutes } from "./rejects.js";
import { savedViewRoutes } from "./saved-views.js";
import { workspaceRoutes } from "./workspaces.js";

const prefix = "/v1/manage";

export function manageRoutes(service: Service, catalogues: CatalogueView): Router {
  const router = new Router({ prefix, sensitive: true });
  const cursors = createCursors(service.vault);
  workspaceRoutes(router, service, cursors);
  keyRoutes(router, service, cursors);
  const providers = createProviders(service.config);
  providerRoutes(router, providers);
  integrationRoutes(router, service, cursors, providers);
  backfillRoutes(router, service, providers);
  productRoutes(router, service, cursors, catalogues);
  rejectRoutes(router, service, cursors);
  memberRoutes(router, service, cursors);
  activityRoutes(router, service, cursors);
  savedViewRoutes(router, service, cursors);
  annotationRoutes(router, service, cursors);
  auditRoutes(router, service, cursors);
  ratesRoutes(router, service);
  backupRoutes(router, service);
  // Part of each route: `router.use` would match the path once more, and by rules of its own.
  for (const route of router.stack) {
    const { right, action } = callOf(route);
    const recorded = action === undefined ? [] : [recordOf(service, action)];
    route.stack.unshift(requireRight(service, right), noParameters, jsonBody(), ...recorded);
  }
  return router;
}

function callOf({ methods, path }: Layer): ManageCall {
  const method = methods.find((name) => name !== "HEAD") ?? "";
  const name = `${method} ${String(path).replace(prefix, "")}`;
  const call = manageCalls[name];
  if (call === undefined) throw new Error(`calls.ts does not say who may ${name}`);
  return call;
}

/** What changes something is reported all of it by the path and the body. */
async function noParameters(ctx: Context, next: Next): Promise<void> {
  if (ctx.method !== "GET" && ctx.method !== "HEAD") refuseParameters(ctx);
  await next();
}

/** One row for each change that was made; what was refused changed nothing. */
function recordOf({ postgres }: Pick<Service, "postgres">, action: string): Middleware {
  return async (ctx: Context, next: Next) => {
    await next();
    const id = shownId(ctx.body);
    const params: Readonly<Record<string, string>> = ctx.params;
    const { workspace = null, ...things } = params;
    await recordActivity(
      postgres,
      {
        workspace: action === "workspace.created" ? id : workspace,
        actor: actorOf(ctx),
        action,
        object: Object.values(things).at(-1) ?? id ?? workspace ?? "installation",
        requestId: ctx.state.requestId,
      },
      new Date(),
    );
  };
}

function shownId(body: unknown): string | null {
  const result = answerWithId.safeParse(body);
  return result.success ? result.data.data.id : null;
}

const answerWithId = z.object({ data: z.object({ id: z.string() }) });
