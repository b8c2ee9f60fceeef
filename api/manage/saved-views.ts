/** Saved views of a workspace: private ones are their member's own, shared ones everybody's. */
import type Router from "@koa/router";
import type { Context } from "koa";
import { mayGrant } from "../../http/auth.js";
import { readJson } from "../../http/body.js";
import { forbidden, notFound } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { callerOf } from "../../http/state.js";
import {
  type SavedView,
  changeView,
  createView,
  deleteView,
  findView,
  listViews,
} from "../../members/saved-views.js";
import type { Service } from "../../runtime/service.js";
import { listQuery } from "../../schemas/http/manage.js";
import { changedView, newView } from "../../schemas/http/members.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { workspaceOf } from "./workspace-of.js";

const path = "/workspaces/:workspace/views";

export function savedViewRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres } = service;

  router.post(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const given = readJson(ctx, newView);
    const member = memberOf(ctx);
    // Without a member nobody could see a private one.
    const shared = given.shared ?? member === null;
    if (shared) requireShared(ctx, id);
    const made = await createView(postgres, id, { ...given, shared, member }, new Date());
    ctx.status = 201;
    ctx.body = { status: "success", data: viewOf(ctx)(made) };
  });

  router.get(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/views", id], query, filters: {} });
    const rows = await listViews(postgres, id, memberOf(ctx), pageOf(list));
    ctx.body = list.answer(rows, markOf, viewOf(ctx));
  });

  router.patch(`${path}/:view`, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const view = await ownView(ctx, id);
    const given = readJson(ctx, changedView);
    const { name = view.name, path: where = view.path, shared = view.shared } = given;
    if (shared) requireShared(ctx, id);
    const changed = { ...view, name, path: where, shared };
    await changeView(postgres, changed);
    ctx.body = { status: "success", data: viewOf(ctx)(changed) };
  });

  router.delete(`${path}/:view`, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const view = await ownView(ctx, id);
    await deleteView(postgres, view.id);
    ctx.body = { status: "success", data: viewOf(ctx)(view) };
  });

  /** @throws ApiError 404 for private ones of others, 403 for shared ones of a viewer */
  async function ownView(ctx: Context, workspace: string): Promise<SavedView> {
    const found = await findView(postgres, workspace, String(ctx.params.view));
    const isOwn = found !== null && found.member !== null && found.member === memberOf(ctx);
    if (found === null || (!found.shared && !isOwn)) {
      throw notFound("view_unknown", "There is no such view.");
    }
    if (!isOwn) requireShared(ctx, workspace);
    return found;
  }
}

/** @throws ApiError 403 */
function requireShared(ctx: Context, workspace: string): void {
  if (mayGrant(callerOf(ctx), workspace, "admin")) return;
  throw forbidden("role_insufficient", "Views that others see need the role admin.");
}

function memberOf(ctx: Context): string | null {
  const caller = callerOf(ctx);
  return caller.kind === "member" ? caller.session.user.id : null;
}

function viewOf(ctx: Context) {
  return ({ id, name, path: where, shared, member, created_at: at }: SavedView) => ({
    id,
    name,
    path: where,
    shared,
    own: member !== null && member === memberOf(ctx),
    created_at: at.toISOString(),
  });
}
