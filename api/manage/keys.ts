import type Router from "@koa/router";
import { readJson } from "../../http/body.js";
import { notFound, unprocessable } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { createKey, listKeys, revokeKey } from "../../workspaces/key-records.js";
import type { Service } from "../../runtime/service.js";
import { listQuery, newKey } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { keyView, storedEnvironment } from "./views.js";
import { workspaceOf } from "./workspace-of.js";

const path = "/workspaces/:workspace/keys";
/** An offset can carry a date of four digits beyond them, where no store follows. */
const yearMax = 9_999;

export function keyRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres } = service;

  router.post(path, async (ctx) => {
    const workspace = await workspaceOf(ctx, service);
    const given = readJson(ctx, newKey);
    const expiresAt = given.expires_at === undefined ? null : new Date(given.expires_at);
    if (expiresAt !== null && expiresAt.getTime() <= Date.now()) {
      throw unprocessable("expires_at_past", "expires_at must be in the future.", "expires_at");
    }
    if (expiresAt !== null && expiresAt.getUTCFullYear() > yearMax) {
      throw unprocessable("expires_at_too_late", "expires_at must be before 10000.", "expires_at");
    }
    const { key, record } = await createKey(
      postgres,
      workspace.id,
      {
        environment: storedEnvironment(given.environment),
        scope: given.scope,
        name: given.name ?? null,
        expires_at: expiresAt,
      },
      new Date(),
    );
    ctx.status = 201;
    // The only time the key itself is shown.
    ctx.body = { status: "success", data: { ...keyView(record), key } };
  });

  router.get(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/keys", id], query, filters: {} });
    ctx.body = list.answer(await listKeys(postgres, id, pageOf(list)), markOf, keyView);
  });

  router.delete(`${path}/:key`, async (ctx) => {
    const workspace = await workspaceOf(ctx, service);
    const revoked = await revokeKey(postgres, workspace.id, String(ctx.params.key), new Date());
    if (revoked === null) throw notFound("key_unknown", "There is no such key.");
    // Seen at once here, and after 5 s at the latest by other processes.
    service.keys.forget();
    ctx.body = { status: "success", data: keyView(revoked) };
  });
}
