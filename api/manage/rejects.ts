import { unprocessable } from "../../schemas/http/errors.js";
import {
  type RejectListRow,
  listRejects,
  unknownRejects,
} from "../../workspaces/rejects/rejects.js";
import { replayRejects } from "../../workspaces/rejects/replay.js";
import type { Service } from "../../service.js";
import {
  type RejectView,
  reject,
  rejectStates,
  rejectsQuery,
  replayAnswer,
  replayRequest,
} from "../../schemas/http/manage.js";
import { filteredBy, ofWorkspace } from "./calls.js";
import { shownEnvironment } from "./environments.js";

const path = "/rejects";

export const rejectRoutes = [
  ofWorkspace.list(path, "Events not booked", {
    right: "look",
    row: reject,
    filters: filteredBy(rejectsQuery, ({ state, reason, provider }) => ({
      state,
      reason,
      provider,
    })),
    async read({ clickhouse, of }, { rowsMax }, { after, filters: { reason, provider, state } }) {
      const shown = rejectStates.find((known) => known === state) ?? "open";
      const rows = await listRejects(
        clickhouse,
        { workspace: of.id, state: shown, reason, provider },
        // As text: it has more digits than a Date.
        after === null ? null : { receivedAt: after.at, id: after.id },
        rowsMax,
      );
      return rows.map((row) => ({ ...row, created_at: row.received_at, id: row.event_id }));
    },
    view: (row) => rejectView(row),
  }),
  ofWorkspace.post(`${path}/replay`, "Put rejected events back on the raw topic", {
    right: "manage",
    action: "rejects.replayed",
    body: replayRequest,
    answer: replayAnswer,
    status: 200,
    async run({ of, body, ...service }) {
      await refuseUnknown(service, of.id, body.ids ?? []);
      return replayRejects(service, { workspace: of.id, ...body });
    },
  }),
];

/**
 * Before anything is put back. Rejects that were replayed already are accepted, because asking
 * twice does no harm.
 * @throws ApiError 422
 */
async function refuseUnknown(
  { clickhouse }: Pick<Service, "clickhouse">,
  id: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const unknown = await unknownRejects(clickhouse, id, ids);
  if (unknown.length === 0) return;
  const more = unknown.length > shownMax ? ` and ${unknown.length - shownMax} more` : "";
  const named = `${unknown.slice(0, shownMax).join(", ")}${more}`;
  throw unprocessable("reject_unknown", `No rejects of this workspace: ${named}.`, "ids");
}

const shownMax = 10;

function rejectView(row: RejectListRow): RejectView {
  const { provider, native_type, step, reason, detail, state } = row;
  return {
    id: row.event_id,
    provider,
    environment: shownEnvironment(row.environment),
    native_type,
    received_at: `${row.received_at.replace(" ", "T")}Z`,
    step,
    reason,
    detail,
    state,
  };
}
