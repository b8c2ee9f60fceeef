/** Annotations: what happened on a day, for everybody who looks at the charts of a workspace. */
import type Router from "@koa/router";
import type { Context } from "koa";
import { readJson } from "../../http/body.js";
import { notFound } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import {
  type Annotation,
  changeAnnotation,
  createAnnotation,
  deleteAnnotation,
  findAnnotation,
  listAnnotations,
} from "../../members/annotations.js";
import type { Service } from "../../runtime/service.js";
import { listQuery } from "../../schemas/http/manage.js";
import { changedAnnotation, newAnnotation } from "../../schemas/http/members.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { workspaceOf } from "./workspace-of.js";

const path = "/workspaces/:workspace/annotations";

export function annotationRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres } = service;

  router.post(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const made = await createAnnotation(postgres, id, readJson(ctx, newAnnotation), new Date());
    ctx.status = 201;
    ctx.body = { status: "success", data: annotationView(made) };
  });

  router.get(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/annotations", id], query, filters: {} });
    const rows = await listAnnotations(postgres, id, pageOf(list));
    ctx.body = list.answer(rows, markOf, annotationView);
  });

  router.patch(`${path}/:annotation`, async (ctx) => {
    const found = await annotationOf(ctx);
    const { day = found.day, text = found.text } = readJson(ctx, changedAnnotation);
    const changed = { ...found, day, text };
    await changeAnnotation(postgres, changed);
    ctx.body = { status: "success", data: annotationView(changed) };
  });

  router.delete(`${path}/:annotation`, async (ctx) => {
    const found = await annotationOf(ctx);
    await deleteAnnotation(postgres, found.id);
    ctx.body = { status: "success", data: annotationView(found) };
  });

  /** @throws ApiError 404 */
  async function annotationOf(ctx: Context): Promise<Annotation> {
    const { id } = await workspaceOf(ctx, service);
    const found = await findAnnotation(postgres, id, String(ctx.params.annotation));
    if (found === null) throw notFound("annotation_unknown", "There is no such annotation.");
    return found;
  }
}

function annotationView({ id, day, text, created_at: at }: Annotation) {
  return { id, day, text, created_at: at.toISOString() };
}
