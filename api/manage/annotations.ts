/** Annotations: what happened on a day, for everybody who looks at the charts of a workspace. */
import type { Context } from "koa";
import { limits } from "../../config.js";
import { readJson } from "../../http/body.js";
import { notFound } from "../../schemas/http/errors.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import type { Service } from "../../service.js";
import { changedAnnotation, newAnnotation } from "../../schemas/http/members.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { newestFirst } from "../../workspaces/list-page.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";
import { requireRoom } from "./room.js";

interface Annotation {
  readonly id: string;
  /** YYYY-MM-DD */
  readonly day: string;
  readonly text: string;
  readonly created_at: Date;
}

const select = "SELECT id, day, text, created_at FROM annotations";

export function annotationRoutes({ postgres }: Service, calls: Calls<Workspace>): void {
  const path = "/annotations";
  const right = "manage";

  calls.list(path, "look", ({ id }, page) =>
    newestFirst<Annotation>(postgres, page, `${select} WHERE workspace = $4`, [id]),
  );

  const created = { right: "assist", action: "annotation.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, { id: workspace }) => {
    const { day, text } = readJson(ctx, newAnnotation);
    const made: Annotation = { id: `ann_${randomBase62(20)}`, day, text, created_at: new Date() };
    await postgres.transaction(async (sql) => {
      await requireRoom(sql, "annotations", workspace, limits.annotationsMax);
      await insertRow(sql, "annotations", { ...made, workspace });
    });
    return made;
  });

  const one = `${path}/:annotation`;
  calls.write("PATCH", one, { right, action: "annotation.changed" }, async (ctx, workspace) => {
    const found = await annotationOf(ctx, workspace);
    const { day = found.day, text = found.text } = readJson(ctx, changedAnnotation);
    const update = "UPDATE annotations SET day = $2, text = $3 WHERE id = $1";
    await durably(postgres, update, [found.id, day, text]);
    return { ...found, day, text };
  });

  calls.write("DELETE", one, { right, action: "annotation.deleted" }, async (ctx, workspace) => {
    const found = await annotationOf(ctx, workspace);
    await durably(postgres, "DELETE FROM annotations WHERE id = $1", [found.id]);
    return found;
  });

  /** @throws ApiError 404 */
  async function annotationOf(ctx: Context, { id }: Workspace): Promise<Annotation> {
    const values = [id, String(ctx.params.annotation)];
    const query = `${select} WHERE workspace = $1 AND id = $2`;
    const [found] = await postgres.query<Annotation>(query, values);
    if (found === undefined) throw notFound("annotation_unknown", "There is no such annotation.");
    return found;
  }
}
