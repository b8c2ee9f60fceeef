import { type AuditRecord, askAudit, isAuditOverdue, listAudits } from "../../workspaces/audits.js";
import { readJson } from "../../http/body.js";
import { conflict, unprocessable } from "../../schemas/http/errors.js";
import { readQuery } from "../../http/query.js";
import type { Service } from "../../service.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import { type AuditView, listQuery, newAudit } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import type { Calls } from "./calls.js";
import { markOf, openList, pageOf } from "./lists.js";

const path = "/audits";

export function auditRoutes({ postgres }: Service, calls: Calls<null>, cursors: Cursors): void {
  calls.answer("GET", path, { right: "operate" }, async (ctx) => {
    const list = openList(ctx, { cursors, name: path, query: readQuery(ctx, listQuery) });
    const rows = await listAudits(postgres, pageOf(list));
    const overdue = await isAuditOverdue(postgres, new Date());
    return { ...list.answer(rows, markOf, auditView), overdue };
  });

  // Taken up by the processors within seconds.
  const started = { right: "operate", action: "audit.started", status: 202 } as const;
  calls.write("POST", path, started, async (ctx) => {
    const { workspace = null } = readJson(ctx, newAudit);
    if (workspace !== null && (await findWorkspace(postgres, workspace)) === null) {
      throw unprocessable("workspace_unknown", "There is no such workspace.", "workspace");
    }
    const asked = await askAudit(postgres, { asked_by: "administrator", workspace }, new Date());
    if (asked === null) throw conflict("audit_waiting", "Such an audit waits already.");
    return auditView(asked);
  });
}

function auditView(row: AuditRecord): AuditView {
  return {
    id: row.id,
    asked_by: row.asked_by,
    workspace: row.workspace,
    state: row.state,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
    rows_compared: Number(row.rows_compared),
    differences: Number(row.differences),
    findings: [...row.findings],
    failure: row.failure,
  };
}
