import { readJson } from "../../http/body.js";
import { unprocessable } from "../../schemas/http/errors.js";
import { readQuery } from "../../http/query.js";
import { listRejects, unknownRejects } from "../../workspaces/rejects/rejects.js";
import { replayRejects } from "../../workspaces/rejects/replay.js";
import type { Service } from "../../service.js";
import { rejectStates, rejectsQuery, replayRequest } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";
import { openList } from "./lists.js";
import { rejectView } from "./views.js";

const path = "/rejects";

export function rejectRoutes(service: Service, calls: Calls<Workspace>, cursors: Cursors): void {
  calls.answer("GET", path, { right: "look" }, async (ctx, { id }) => {
    const { state, reason, provider, ...query } = readQuery(ctx, rejectsQuery);
    const filters = { state, reason, provider };
    const list = openList(ctx, { cursors, name: path, query, filters });
    const shown = rejectStates.find((known) => known === list.filters.state) ?? "open";
    const rows = await listRejects(
      service.clickhouse,
      {
        workspace: id,
        state: shown,
        reason: list.filters.reason,
        provider: list.filters.provider,
      },
      list.after === null ? null : { receivedAt: list.after.at, id: list.after.id },
      list.rowsMax + 1,
    );
    return list.answer(rows, (row) => ({ at: row.received_at, id: row.event_id }), rejectView);
  });

  const replayed = { right: "manage", action: "rejects.replayed" } as const;
  calls.write("POST", `${path}/replay`, replayed, async (ctx, { id }) => {
    const given = readJson(ctx, replayRequest);
    await refuseUnknown(service, id, given.ids ?? []);
    return replayRejects(service, { workspace: id, ...given });
  });
}

/**
 * Before anything is put back. Rejects that were replayed already are accepted, because asking
 * twice does no harm.
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
