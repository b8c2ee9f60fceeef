/** `GET …/activity`: who changed what, newest first; of a workspace, or of the installation. */
import type Router from "@koa/router";
import { readQuery } from "../../http/query.js";
import { type ActivityRecord, listActivity } from "../../members/activity.js";
import type { Service } from "../../runtime/service.js";
import { listQuery } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { workspaceOf } from "./workspace-of.js";

export function activityRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres } = service;

  router.get("/workspaces/:workspace/activity", async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/activity", id], query, filters: {} });
    ctx.body = list.answer(await listActivity(postgres, id, pageOf(list)), markOf, activityView);
  });

  router.get("/activity", async (ctx) => {
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/activity"], query, filters: {} });
    ctx.body = list.answer(await listActivity(postgres, null, pageOf(list)), markOf, activityView);
  });
}

function activityView({ id, created_at: at, actor, action, object, request_id }: ActivityRecord) {
  return { id, at: at.toISOString(), actor, action, object, request_id };
}
