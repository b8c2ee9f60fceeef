/** The operations of the management interface (`definitions.md`, Management interface). */
import { z } from "zod";
import * as manage from "../../schemas/http/manage.js";
import * as members from "../../schemas/http/members.js";
import type { Operation } from "./operation.js";

export const manageOperations: readonly Operation[] = [
  {
    ...read("/providers", "What each provider needs", z.array(manage.provider)),
    errors: [],
  },
  create("/workspaces", "Make a workspace", manage.newWorkspace, manage.workspace),
  list("/workspaces", "Workspaces", manage.workspace),
  read("/workspaces/{id}", "One workspace", manage.workspace),
  change("/workspaces/{id}", "Rename a workspace", manage.changedWorkspace, manage.workspace),
  create("/workspaces/{id}/keys", "Make an API key", manage.newKey, manage.createdKey),
  list("/workspaces/{id}/keys", "API keys, masked", manage.key),
  remove("/workspaces/{id}/keys/{key}", "Revoke a key", manage.key),
  create(
    "/workspaces/{id}/integrations",
    "Connect a provider account",
    manage.newIntegration,
    manage.createdIntegration,
  ),
  list("/workspaces/{id}/integrations", "Connected provider accounts", manage.listedIntegration),
  change(
    "/workspaces/{id}/integrations/{integration}",
    "Rotate credentials, rename",
    manage.changedIntegration,
    manage.createdIntegration,
  ),
  remove(
    "/workspaces/{id}/integrations/{integration}",
    "Disconnect a provider account",
    manage.integration,
  ),
  {
    ...create(
      "/workspaces/{id}/integrations/{integration}/backfill",
      "Read the provider's history",
      manage.newBackfill,
      manage.backfill,
    ),
    status: 202,
    errors: [400, 404, 409, 413, 415, 422],
  },
  read(
    "/workspaces/{id}/integrations/{integration}/backfill",
    "Progress of the newest backfill",
    manage.backfill,
  ),
  list("/workspaces/{id}/products", "Products", manage.managedProduct, manage.productsQuery),
  change(
    "/workspaces/{id}/products/{product}",
    "Rename, re-categorise, move SKUs",
    manage.changedProduct,
    manage.managedProduct,
  ),
  {
    ...create(
      "/workspaces/{id}/products/{product}/merge",
      "Merge products into this one",
      manage.mergedProducts,
      manage.managedProduct,
    ),
    status: 200,
  },
  list("/workspaces/{id}/rejects", "Events not booked", manage.reject, manage.rejectsQuery),
  {
    ...create(
      "/workspaces/{id}/rejects/replay",
      "Put rejected events back on the raw topic",
      manage.replayRequest,
      manage.replayAnswer,
    ),
    status: 200,
  },
  create(
    "/workspaces/{id}/invitations",
    "Invite somebody",
    members.newInvitation,
    members.createdInvitation,
  ),
  list("/workspaces/{id}/invitations", "Invitations that can be used", members.invitation),
  remove(
    "/workspaces/{id}/invitations/{invitation}",
    "Take an invitation back",
    members.invitation,
  ),
  list("/workspaces/{id}/members", "Members", members.member),
  change(
    "/workspaces/{id}/members/{member}",
    "Give another role",
    members.changedMember,
    members.member,
  ),
  remove("/workspaces/{id}/members/{member}", "Remove a member, or leave", members.member),
  list("/workspaces/{id}/activity", "Who changed what, newest first", members.activity),
  list("/activity", "The same of the installation", members.activity),
  create(
    "/workspaces/{id}/views",
    "Save a view of the dashboard",
    members.newView,
    members.savedView,
  ),
  list("/workspaces/{id}/views", "Shared views, and one's own", members.savedView),
  change(
    "/workspaces/{id}/views/{view}",
    "Change a saved view",
    members.changedView,
    members.savedView,
  ),
  remove("/workspaces/{id}/views/{view}", "Delete a saved view", members.savedView),
  create(
    "/workspaces/{id}/annotations",
    "Note what happened on a day",
    members.newAnnotation,
    members.annotation,
  ),
  list("/workspaces/{id}/annotations", "Annotations", members.annotation),
  change(
    "/workspaces/{id}/annotations/{annotation}",
    "Change an annotation",
    members.changedAnnotation,
    members.annotation,
  ),
  remove("/workspaces/{id}/annotations/{annotation}", "Delete an annotation", members.annotation),
  { ...list("/audits", "Audits, newest first", manage.auditRecord), answer: manage.auditList },
  {
    ...create("/audits", "Audit now", manage.newAudit, manage.auditRecord),
    status: 202,
    errors: [400, 409, 413, 415, 422],
  },
  read("/rates", "How old the newest exchange rates are", z.array(manage.ratesOfSource)),
  {
    ...create("/backups", "Make a backup now", manage.newBackup, manage.backup),
    status: 202,
    errors: [400, 409, 413, 415, 422],
  },
  read("/backups/last", "The backup being made, or made last, by this process", manage.backup),
];

type Basics = Pick<Operation, "path" | "tag" | "security" | "summary">;

function basics(path: string, summary: string): Basics {
  return { path: `/v1/manage${path}`, tag: "Management", security: "administrator", summary };
}

function list(
  path: string,
  summary: string,
  row: z.ZodType,
  query: z.ZodObject = manage.listQuery,
): Operation {
  const answer = manage.listAnswer(row);
  return {
    ...basics(path, summary),
    method: "get",
    query,
    status: 200,
    answer,
    errors: [400, 404],
  };
}

function read(path: string, summary: string, data: z.ZodType): Operation {
  const answer = manage.dataAnswer(data);
  return { ...basics(path, summary), method: "get", status: 200, answer, errors: [404] };
}

function create(path: string, summary: string, body: z.ZodType, data: z.ZodType): Operation {
  const answer = manage.dataAnswer(data);
  const errors = [400, 404, 413, 415, 422];
  return { ...basics(path, summary), method: "post", body, status: 201, answer, errors };
}

function change(path: string, summary: string, body: z.ZodType, data: z.ZodType): Operation {
  return { ...create(path, summary, body, data), method: "patch", status: 200 };
}

function remove(path: string, summary: string, data: z.ZodType): Operation {
  return { ...read(path, summary, data), method: "delete" };
}
