import type Router from "@koa/router";
import type { Context } from "koa";
import { readJson } from "../../http/body.js";
import { readQuery, refuseParameters } from "../../http/query.js";
import { callerOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { createWorkspace, listWorkspaces, renameWorkspace } from "../../workspaces/workspaces.js";
import { changedWorkspace, listQuery, newWorkspace } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { workspaceView } from "./views.js";
import { workspaceOf } from "./workspace-of.js";

export function workspaceRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres } = service;

  router.post("/workspaces", async (ctx) => {
    const given = readJson(ctx, newWorkspace);
    const created = await createWorkspace(postgres, given, new Date(), memberOf(ctx));
    service.sessions.forget();
    ctx.status = 201;
    ctx.body = { status: "success", data: workspaceView(created) };
  });

  router.get("/workspaces", async (ctx) => {
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/workspaces"], query, filters: {} });
    const rows = await listWorkspaces(postgres, pageOf(list), memberOf(ctx));
    ctx.body = list.answer(rows, markOf, workspaceView);
  });

  router.get("/workspaces/:workspace", async (ctx) => {
    refuseParameters(ctx);
    ctx.body = { status: "success", data: workspaceView(await workspaceOf(ctx, service)) };
  });

  router.patch("/workspaces/:workspace", async (ctx) => {
    const found = await workspaceOf(ctx, service);
    const { name } = readJson(ctx, changedWorkspace);
    await renameWorkspace(postgres, found.id, name);
    // Sessions hold the names of their workspaces.
    service.sessions.forget();
    ctx.body = { status: "success", data: workspaceView({ ...found, name }) };
  });
}

/** Null: the administrator. */
function memberOf(ctx: Context): string | null {
  const caller = callerOf(ctx);
  return caller.kind === "member" ? caller.session.user.id : null;
}
