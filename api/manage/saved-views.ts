/**
 * Saved views of a workspace: a path and query of the dashboard under a name. Private ones belong
 * to a member, shared ones to everybody.
 */
import type { Context } from "koa";
import { mayGrant } from "../../http/auth.js";
import { forbidden, notFound } from "../../schemas/http/errors.js";
import { callerOf, memberOf } from "../../http/state.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import { changedView, newView, savedView } from "../../schemas/http/members.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { newestFirst } from "../../workspaces/list-page.js";
import { type Call, ofWorkspace } from "./calls.js";

interface SavedView {
  readonly id: string;
  readonly member: string | null;
  readonly shared: boolean;
  readonly name: string;
  readonly path: string;
  readonly created_at: Date;
}

const select = "SELECT id, member, shared, name, path, created_at FROM saved_views";

const path = "/views";
const one = `${path}/{view}`;
// Anybody may have private views; shared ones need more.
const right = "look";

export const savedViewRoutes = [
  ofWorkspace.post(path, "Save a view of the dashboard", {
    right,
    action: "view.created",
    body: newView,
    answer: savedView,
    async run({ postgres, ctx, of, body: { name, path: where, shared: asked } }) {
      const member = memberOf(ctx);
      // Without a member nobody could see a private one.
      const shared = asked ?? member === null;
      if (shared) requireShared(ctx, of.id);
      const id = `viw_${randomBase62(20)}`;
      const made: SavedView = { id, member, shared, name, path: where, created_at: new Date() };
      const row = { ...made, workspace: of.id };
      await postgres.transaction((sql) => insertRow(sql, "saved_views", row));
      return shown(made, ctx);
    },
  }),
  ofWorkspace.list(path, "Shared views, and one's own", {
    right,
    row: savedView,
    read({ postgres, ctx, of }, page) {
      const listed = `${select} WHERE workspace = $4 AND (shared OR member = $5)`;
      return newestFirst<SavedView>(postgres, page, listed, [of.id, memberOf(ctx)]);
    },
    view: (row, { ctx }) => shown(row, ctx),
  }),
  ofWorkspace.patch(one, "Change a saved view", {
    right,
    action: "view.changed",
    body: changedView,
    answer: savedView,
    find: ownView,
    async run({ postgres, ctx, of, found: view, body }) {
      const { name = view.name, path: where = view.path, shared = view.shared } = body;
      if (shared) requireShared(ctx, of.id);
      const update = "UPDATE saved_views SET shared = $2, name = $3, path = $4 WHERE id = $1";
      await durably(postgres, update, [view.id, shared, name, where]);
      return shown({ ...view, name, path: where, shared }, ctx);
    },
  }),
  ofWorkspace.delete(one, "Delete a saved view", {
    right,
    action: "view.deleted",
    answer: savedView,
    find: ownView,
    async run({ postgres, ctx, found: view }) {
      await durably(postgres, "DELETE FROM saved_views WHERE id = $1", [view.id]);
      return shown(view, ctx);
    },
  }),
];

/** @throws ApiError 404 for private ones of others, 403 for shared ones of a viewer */
async function ownView({ postgres, ctx, of }: Call): Promise<SavedView> {
  const values = [of.id, String(ctx.params.view)];
  const query = `${select} WHERE workspace = $1 AND id = $2`;
  const [found] = await postgres.query<SavedView>(query, values);
  if (found === undefined || (!found.shared && !isOwn(found, ctx))) {
    throw notFound("view_unknown", "There is no such view.");
  }
  if (!isOwn(found, ctx)) requireShared(ctx, of.id);
  return found;
}

/** @throws ApiError 403 */
function requireShared(ctx: Context, id: string): void {
  if (mayGrant(callerOf(ctx), id, "admin")) return;
  throw forbidden("role_insufficient", "Views that others see need the role admin.");
}

function isOwn({ member }: SavedView, ctx: Context): boolean {
  return member !== null && member === memberOf(ctx);
}

function shown(view: SavedView, ctx: Context) {
  const { member: _member, ...rest } = view;
  return { ...rest, own: isOwn(view, ctx) };
}
