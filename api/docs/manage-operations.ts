/** The operations of the management interface (`definitions.md`, Management interface). */
import { z } from "zod";
import * as alerts from "../../schemas/http/outbound/alerts.js";
import * as assistants from "../../schemas/http/assistants.js";
import * as digests from "../../schemas/http/outbound/digests.js";
import * as manage from "../../schemas/http/manage.js";
import * as members from "../../schemas/http/members.js";
import * as payouts from "../../schemas/http/payouts.js";
import * as proofs from "../../schemas/http/proofs.js";
import * as segments from "../../schemas/http/segments.js";
import * as reports from "../../schemas/http/reports.js";
import type { Operation } from "./operation.js";
import { webhookOperations } from "./webhook-operations.js";

/** Up to 16 MiB; `npm run ops` reads larger ones. */
const exportFile = z.string().describe("CSV, plain or gzip, or Parquet, of up to 16 MiB");
const exportTypes = ["text/csv", "application/gzip", "application/vnd.apache.parquet"];
const reportFile = z.string().describe("As the store has it: text, gzip or zip, of up to 16 MiB");
const reportTypes = [
  "text/csv",
  "text/tab-separated-values",
  "application/gzip",
  "application/zip",
];

export const manageOperations: readonly Operation[] = [
  { ...read("/providers", "What each provider needs", z.array(manage.provider)), errors: [] },
  create("/workspaces", "Make a workspace", manage.newWorkspace, manage.workspace),
  list("/workspaces", "Workspaces", manage.workspace),
  read("/workspaces/{id}", "One workspace", manage.workspace),
  read("/workspaces/{id}/settings", "Its settings", manage.workspaceSettings),
  change(
    "/workspaces/{id}",
    "Change a workspace",
    manage.changedWorkspace,
    manage.workspaceWithSettings,
  ),
  list("/activity", "The same of the installation", members.activity),
  { ...list("/audits", "Audits, newest first", manage.auditRecord), answer: manage.auditList },
  {
    ...create("/audits", "Audit now", manage.newAudit, manage.auditRecord),
    status: 202,
    errors: [409, 413, 415, 422],
  },
  read("/rates", "How old the newest exchange rates are", z.array(manage.ratesOfSource)),
  {
    ...create("/backups", "Make a backup now", manage.newBackup, manage.backup),
    status: 202,
    errors: [409, 413, 415, 422],
  },
  {
    ...read("/demo", "Start the demo, or open it", manage.demo),
    method: "post",
    status: 202,
    errors: [422],
  },
  read("/demo", "Whether the demo runs", manage.demo),
  {
    ...read("/proof-keys", "Sign proofs with a new key, in two minutes", proofs.proofKey),
    method: "post",
    status: 201,
    errors: [],
  },
  remove(
    "/proof-keys/{key}",
    "Revoke a key: nothing it signed can be verified any more",
    proofs.proofKey.pick({ id: true }),
  ),
  read("/backups/last", "The backup being made, or made last, by this process", manage.backup),
  ...[...ofWorkspace(), ...webhookOperations].map((each) => ({
    ...each,
    path: each.path.replace("/v1/manage", "/v1/manage/workspaces/{id}"),
  })),
];

function ofWorkspace(): Operation[] {
  return [
    create("/keys", "Make an API key", manage.newKey, manage.createdKey),
    list("/keys", "API keys, masked", manage.key),
    {
      ...create("/keys/{key}/roll", "Replace a key", manage.rolledKey, manage.createdKey),
      errors: [404, 409, 413, 415, 422],
    },
    remove("/keys/{key}", "Revoke a key", manage.key),
    create(
      "/integrations",
      "Connect a provider account",
      manage.newIntegration,
      manage.createdIntegration,
    ),
    list("/integrations", "Connected provider accounts", manage.listedIntegration),
    change(
      "/integrations/{integration}",
      "Rotate credentials, rename",
      manage.changedIntegration,
      manage.createdIntegration,
    ),
    {
      ...create(
        "/integrations/{integration}/endpoint",
        "Make the webhook endpoint at the provider",
        manage.newEndpoint,
        manage.integration,
      ),
      status: 200,
      errors: [404, 409, 413, 415, 422],
    },
    remove("/integrations/{integration}", "Disconnect a provider account", manage.integration),
    {
      ...create(
        "/integrations/{integration}/backfill",
        "Read the provider's history",
        manage.newBackfill,
        manage.backfill,
      ),
      status: 202,
      errors: [404, 409, 413, 415, 422],
    },
    {
      ...create(
        "/integrations/{integration}/export/check",
        "What a file of the provider's history would book",
        exportFile,
        manage.exportReport,
      ),
      bodyTypes: exportTypes,
      status: 200,
      errors: [404, 409, 413, 415, 422],
    },
    {
      ...create(
        "/integrations/{integration}/export",
        "Read the provider's history from a file",
        exportFile,
        manage.takenExport,
      ),
      bodyTypes: exportTypes,
      query: manage.exportQuery,
      status: 202,
      errors: [404, 409, 413, 415, 422],
    },
    {
      ...create(
        "/integrations/{integration}/reports/check",
        "What a store's report of a month says",
        reportFile,
        reports.checkedReport,
      ),
      bodyTypes: reportTypes,
      status: 200,
      errors: [404, 409, 413, 415, 422],
    },
    {
      ...create(
        "/integrations/{integration}/reports",
        "Keep a store's report of a month, to compare it with what is booked",
        reportFile,
        reports.checkedReport,
      ),
      bodyTypes: reportTypes,
      errors: [404, 409, 413, 415, 422],
    },
    read(
      "/integrations/{integration}/reports",
      "The reports that were uploaded or fetched, the newest month first",
      z.array(reports.keptReport),
    ),
    {
      ...read(
        "/integrations/{integration}/reports/fetch",
        "Fetch the missing reports of the last twelve months from the store",
        reports.reportFetch,
      ),
      method: "post",
      status: 202,
      errors: [404, 422],
    },
    read(
      "/integrations/{integration}/reports/fetch",
      "How the last fetch of reports went",
      reports.reportFetch,
    ),
    remove(
      "/integrations/{integration}/reports/{kind}/{month}",
      "Delete a report",
      reports.deletedReport,
    ),
    read(
      "/integrations/{integration}/reports/{kind}/{month}",
      "A report beside what is booked, by product and currency",
      reports.comparedReport,
    ),
    read(
      "/integrations/{integration}/backfill",
      "Progress of the newest backfill",
      manage.backfill,
    ),
    read(
      "/integrations/{integration}/coverage",
      "How the money of each month is known",
      manage.coverage,
    ),
    {
      ...create(
        "/integrations/{integration}/reconciliation",
        "Compare months with the provider's list",
        manage.newReconciliation,
        manage.reconciliation,
      ),
      status: 202,
      errors: [404, 413, 415, 422],
    },
    {
      ...read(
        "/integrations/{integration}/reconciliation",
        "What is booked beside what the provider lists",
        manage.reconciliation,
      ),
      query: manage.reconciliationQuery,
      errors: [404, 422],
    },
    {
      ...read("/integrations/{integration}/payouts", "Payouts to the bank", payouts.payouts),
      query: payouts.payoutsQuery,
      errors: [404, 422, 503],
    },
    {
      ...read(
        "/integrations/{integration}/payouts/{payout}",
        "What a payout is made of, to the cent",
        payouts.openedPayout,
      ),
      errors: [404, 422, 503],
    },
    list("/products", "Products", manage.managedProduct, manage.productsQuery),
    change(
      "/products/{product}",
      "Rename, re-categorise, move SKUs",
      manage.changedProduct,
      manage.managedProduct,
    ),
    {
      ...create(
        "/products/{product}/merge",
        "Merge products into this one",
        manage.mergedProducts,
        manage.mergedProduct,
      ),
      status: 200,
    },
    {
      ...read("/attention", "What keeps figures from being whole", manage.attention),
      query: manage.attentionQuery,
    },
    list("/rejects", "Events not booked", manage.reject, manage.rejectsQuery),
    {
      ...create(
        "/rejects/replay",
        "Put rejected events back on the raw topic",
        manage.replayRequest,
        manage.replayAnswer,
      ),
      status: 200,
    },
    create("/invitations", "Invite somebody", members.newInvitation, members.createdInvitation),
    list("/invitations", "Invitations that can be used", members.invitation),
    remove("/invitations/{invitation}", "Take an invitation back", members.invitation),
    list("/assistants", "Programs that members connected over /mcp", assistants.assistant),
    remove("/assistants/{assistant}", "Disconnect one", assistants.assistant),
    list("/members", "Members", members.member),
    change("/members/{member}", "Give another role", members.changedMember, members.member),
    remove("/members/{member}", "Remove a member, or leave", members.member),
    list("/activity", "Who changed what, newest first", members.activity),
    {
      ...read("/activity/{activity}/undo", "Undo a merge of products", manage.managedProduct),
      method: "post",
      errors: [404, 409],
    },
    create("/views", "Save a view of the dashboard", members.newView, members.savedView),
    list("/views", "Shared views, and one's own", members.savedView),
    change("/views/{view}", "Change a saved view", members.changedView, members.savedView),
    remove("/views/{view}", "Delete a saved view", members.savedView),
    {
      ...create(
        "/annotations",
        "Note what happened on a day",
        members.newAnnotation,
        members.annotation,
      ),
      errors: [404, 409, 413, 415, 422],
    },
    list("/annotations", "Annotations", members.annotation),
    change(
      "/annotations/{annotation}",
      "Change an annotation",
      members.changedAnnotation,
      members.annotation,
    ),
    remove("/annotations/{annotation}", "Delete an annotation", members.annotation),
    {
      ...create(
        "/goals",
        "Set what MRR or revenue is meant to be in a month",
        members.newGoal,
        members.goal,
      ),
      errors: [404, 409, 413, 415, 422],
    },
    list("/goals", "Goals", members.goal),
    change("/goals/{goal}", "Change a goal", members.changedGoal, members.goal),
    remove("/goals/{goal}", "Delete a goal", members.goal),
    {
      ...create(
        "/segments",
        "Save filters under a name, or a list of customers",
        segments.newSegment,
        segments.writtenSegment,
      ),
      errors: [404, 409, 413, 415, 422],
    },
    list("/segments", "Segments", segments.segment),
    {
      ...change(
        "/segments/{segment}",
        "Change a segment",
        segments.changedSegment,
        segments.writtenSegment,
      ),
      errors: [404, 409, 413, 415, 422],
    },
    remove("/segments/{segment}", "Delete a segment; frozen links still show it", segments.segment),
    read("/digests", "One's own digest, and what it lacks", digests.digests),
    {
      ...create(
        "/digests/email",
        "Get the figures of every day, week or month by e-mail",
        digests.newDigest,
        digests.digest,
      ),
      status: 200,
    },
    remove("/digests/email", "Get no more of them", digests.digest),
    {
      ...create(
        "/digests/chat",
        "Send the figures of every day, week or month to the chat channel",
        digests.newDigest,
        digests.digest,
      ),
      status: 200,
    },
    remove("/digests/chat", "Send no more of them there", digests.digest),
    {
      ...read("/digests/preview", "A digest of the last whole period", digests.digestPreview),
      query: digests.previewQuery,
    },
    create("/alerts", "Make an alert", alerts.newAlert, alerts.alert),
    list("/alerts", "Alerts", alerts.alert),
    {
      ...create(
        "/alerts/test",
        "When a rule would have fired in the last 90 days",
        alerts.testedAlert,
        alerts.alertTest,
      ),
      status: 200,
    },
    list("/alerts/firings", "When alerts fired, and what was sent", alerts.alertFiring),
    change("/alerts/{alert}", "Change or pause an alert", alerts.changedAlert, alerts.alert),
    remove("/alerts/{alert}", "Delete an alert", alerts.alert),
    read("/chat", "The channel of a chat program", alerts.chatChannels),
    {
      ...create(
        "/chat",
        "Connect a channel by its incoming-webhook URL; a first message is sent",
        alerts.newChatChannel,
        alerts.chatChannel,
      ),
      status: 200,
    },
    remove("/chat", "Disconnect the channel", alerts.chatChannel),
    list("/proofs", "Public, signed pages of one figure each", proofs.proof),
    {
      ...create("/proofs", "Publish one", proofs.newProof, proofs.proof),
      errors: [404, 409, 413, 415, 422],
    },
    {
      ...create(
        "/proofs/preview",
        "What one would say; nothing is published",
        proofs.newProof,
        proofs.proofClaims,
      ),
      status: 200,
    },
    remove("/proofs/{proof}", "Revoke one; its address says so", proofs.proof),
    remove(
      "/accounts/{account}/customer",
      "Erase a customer's id, name and e-mail; nothing is kept of it again",
      manage.erasedCustomer,
    ),
  ];
}

function list(
  path: string,
  summary: string,
  row: z.ZodType,
  query: z.ZodObject = manage.listQuery,
): Operation {
  const answer = manage.listAnswer(row);
  return { ...read(path, summary, row), query, answer };
}

function read(path: string, summary: string, data: z.ZodType): Operation {
  return {
    method: "get",
    path: `/v1/manage${path}`,
    tag: "Management",
    security: "administrator",
    summary,
    status: 200,
    answer: manage.dataAnswer(data),
    errors: [404],
  };
}

function create(path: string, summary: string, body: z.ZodType, data: z.ZodType): Operation {
  const errors = [404, 413, 415, 422];
  return { ...read(path, summary, data), method: "post", body, status: 201, errors };
}

function change(path: string, summary: string, body: z.ZodType, data: z.ZodType): Operation {
  return { ...create(path, summary, body, data), method: "patch", status: 200 };
}

function remove(path: string, summary: string, data: z.ZodType): Operation {
  return { ...read(path, summary, data), method: "delete" };
}
