import { type AuditRecord, askAudit, isAuditOverdue, listAudits } from "../../workspaces/audits.js";
import { conflict, unprocessable } from "../../schemas/http/errors.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import { auditList, auditRecord, newAudit } from "../../schemas/http/manage.js";
import { ofInstallation } from "./calls.js";

const path = "/audits";

export const auditRoutes = [
  ofInstallation.list(path, "Audits, newest first", {
    right: "operate",
    row: auditRecord,
    read: ({ postgres }, page) => listAudits(postgres, page),
    view: auditView,
    answer: auditList,
    more: async ({ postgres }) => ({ overdue: await isAuditOverdue(postgres, new Date()) }),
  }),
  ofInstallation.post(path, "Audit now", {
    right: "operate",
    action: "audit.started",
    body: newAudit,
    answer: auditRecord,
    // Taken up by the processors within seconds.
    status: 202,
    errors: [409],
    async run({ postgres, body: { workspace = null } }) {
      if (workspace !== null && (await findWorkspace(postgres, workspace)) === null) {
        throw unprocessable("workspace_unknown", "There is no such workspace.", "workspace");
      }
      const asked = await askAudit(postgres, { asked_by: "administrator", workspace }, new Date());
      if (asked === null) throw conflict("audit_waiting", "Such an audit waits already.");
      return auditView(asked);
    },
  }),
];

function auditView(row: AuditRecord) {
  const { rows_compared: compared, differences } = row;
  return { ...row, rows_compared: Number(compared), differences: Number(differences) };
}
