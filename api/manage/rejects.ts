import type Router from "@koa/router";
import { readJson } from "../../http/body.js";
import { unprocessable } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { listRejects, unknownRejects } from "../../rejects/rejects.js";
import { replayRejects } from "../../rejects/replay.js";
import type { Service } from "../../runtime/service.js";
import { rejectStates, rejectsQuery, replayRequest } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import { openList } from "./lists.js";
import { rejectView } from "./views.js";
import { workspaceOf } from "./workspace-of.js";

const path = "/workspaces/:workspace/rejects";

export function rejectRoutes(router: Router, service: Service, cursors: Cursors): void {
  router.get(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const { state, reason, ...query } = readQuery(ctx, rejectsQuery);
    const list = openList({
      cursors,
      scope: ["manage/rejects", id],
      query,
      filters: { state, reason },
    });
    const shown = rejectStates.find((known) => known === list.filters.state) ?? "open";
    const rows = await listRejects(
      service.clickhouse,
      { workspace: id, state: shown, reason: list.filters.reason },
      list.after === null ? null : { receivedAt: list.after.at, id: list.after.id },
      list.rowsMax + 1,
    );
    ctx.body = list.answer(rows, (row) => ({ at: row.received_at, id: row.event_id }), rejectView);
  });

  router.post(`${path}/replay`, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const given = readJson(ctx, replayRequest);
    await refuseUnknown(service, id, given.ids ?? []);
    const data = await replayRejects(service, { workspace: id, ...given });
    ctx.body = { status: "success", data };
  });
}

/**
 * Before anything is put back. One that was replayed already is known: to ask twice does no harm.
 * @throws ApiError 422
 */
async function refuseUnknown(
  { clickhouse }: Service,
  workspace: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const unknown = await unknownRejects(clickhouse, workspace, ids);
  if (unknown.length === 0) return;
  const more = unknown.length > shownMax ? ` and ${unknown.length - shownMax} more` : "";
  const named = `${unknown.slice(0, shownMax).join(", ")}${more}`;
  throw unprocessable("reject_unknown", `No rejects of this workspace: ${named}.`, "ids");
}

const shownMax = 10;
