/** The workspace every path below `/v1/manage/workspaces/<id>/` is about. */
import type { Context } from "koa";
import { notFound } from "../../http/errors.js";
import type { Service } from "../../runtime/service.js";
import { type Workspace, findWorkspace } from "../../workspaces/workspaces.js";

/** @throws ApiError 404 */
export async function workspaceOf(
  ctx: Context,
  service: Pick<Service, "postgres">,
): Promise<Workspace> {
  const workspace = await findWorkspace(service.postgres, String(ctx.params.workspace));
  if (workspace === null) throw notFound("workspace_unknown", "There is no such workspace.");
  return workspace;
}
