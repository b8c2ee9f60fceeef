import type Router from "@koa/router";
import { type AuditRecord, askAudit, isAuditOverdue, listAudits } from "../../audits/audits.js";
import { readJson } from "../../http/body.js";
import { conflict, unprocessable } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import { type AuditView, listQuery, newAudit } from "../../schemas/http/manage.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";

const path = "/audits";

export function auditRoutes(router: Router, service: Service, cursors: Cursors): void {
  const { postgres } = service;

  router.get(path, async (ctx) => {
    const query = readQuery(ctx, listQuery);
    const list = openList({ cursors, scope: ["manage/audits"], query, filters: {} });
    const rows = await listAudits(postgres, pageOf(list));
    const overdue = await isAuditOverdue(postgres, new Date());
    ctx.body = { ...list.answer(rows, markOf, auditView), overdue };
  });

  router.post(path, async (ctx) => {
    const { workspace = null } = readJson(ctx, newAudit);
    if (workspace !== null && (await findWorkspace(postgres, workspace)) === null) {
      throw unprocessable("workspace_unknown", "There is no such workspace.", "workspace");
    }
    const asked = await askAudit(postgres, { asked_by: "administrator", workspace }, new Date());
    if (asked === null) throw conflict("audit_waiting", "Such an audit waits already.");
    // Taken up by the processors within seconds.
    ctx.status = 202;
    ctx.body = { status: "success", data: auditView(asked) };
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
