/**
 * Saved views of a workspace: a path and query of the dashboard under a name. Private ones belong
 * to a member, shared ones to everybody.
 */
import type { Context } from "koa";
import { mayGrant } from "../../http/auth.js";
import { readJson } from "../../http/body.js";
import { forbidden, notFound } from "../../schemas/http/errors.js";
import { callerOf, memberOf } from "../../http/state.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import type { Service } from "../../service.js";
import { changedView, newView } from "../../schemas/http/members.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { newestFirst } from "../../workspaces/list-page.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";

interface SavedView {
  readonly id: string;
  readonly member: string | null;
  readonly shared: boolean;
  readonly name: string;
  readonly path: string;
  readonly created_at: Date;
}

const select = "SELECT id, member, shared, name, path, created_at FROM saved_views";

export function savedViewRoutes({ postgres }: Service, calls: Calls<Workspace>): void {
  const path = "/views";
  // Anybody may have private views; shared ones need more.
  const right = "look";

  const listed = `${select} WHERE workspace = $4 AND (shared OR member = $5)`;
  calls.list(
    path,
    right,
    ({ id }, page, ctx) => newestFirst<SavedView>(postgres, page, listed, [id, memberOf(ctx)]),
    shown,
  );

  const created = { right, action: "view.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, { id: workspace }) => {
    const { name, path: where, shared: asked } = readJson(ctx, newView);
    const member = memberOf(ctx);
    // Without a member nobody could see a private one.
    const shared = asked ?? member === null;
    if (shared) requireShared(ctx, workspace);
    const id = `viw_${randomBase62(20)}`;
    const made: SavedView = { id, member, shared, name, path: where, created_at: new Date() };
    await postgres.transaction((sql) => insertRow(sql, "saved_views", { ...made, workspace }));
    return shown(made, ctx);
  });

  const one = `${path}/:view`;
  calls.write("PATCH", one, { right, action: "view.changed" }, async (ctx, workspace) => {
    const view = await ownView(ctx, workspace);
    const given = readJson(ctx, changedView);
    const { name = view.name, path: where = view.path, shared = view.shared } = given;
    if (shared) requireShared(ctx, workspace.id);
    const update = "UPDATE saved_views SET shared = $2, name = $3, path = $4 WHERE id = $1";
    await durably(postgres, update, [view.id, shared, name, where]);
    return shown({ ...view, name, path: where, shared }, ctx);
  });

  calls.write("DELETE", one, { right, action: "view.deleted" }, async (ctx, workspace) => {
    const view = await ownView(ctx, workspace);
    await durably(postgres, "DELETE FROM saved_views WHERE id = $1", [view.id]);
    return shown(view, ctx);
  });

  /** @throws ApiError 404 for private ones of others, 403 for shared ones of a viewer */
  async function ownView(ctx: Context, { id: workspace }: Workspace): Promise<SavedView> {
    const values = [workspace, String(ctx.params.view)];
    const query = `${select} WHERE workspace = $1 AND id = $2`;
    const [found] = await postgres.query<SavedView>(query, values);
    if (found === undefined || (!found.shared && !isOwn(found, ctx))) {
      throw notFound("view_unknown", "There is no such view.");
    }
    if (!isOwn(found, ctx)) requireShared(ctx, workspace);
    return found;
  }
}

/** @throws ApiError 403 */
function requireShared(ctx: Context, workspace: string): void {
  if (mayGrant(callerOf(ctx), workspace, "admin")) return;
  throw forbidden("role_insufficient", "Views that others see need the role admin.");
}

function isOwn({ member }: SavedView, ctx: Context): boolean {
  return member !== null && member === memberOf(ctx);
}

function shown(view: SavedView, ctx: Context) {
  const { member: _member, ...rest } = view;
  return { ...rest, own: isOwn(view, ctx) };
}
