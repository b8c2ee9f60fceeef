/** `GET …/activity`: who changed what, newest first; of a workspace, or of the installation. */
import { type ActivityRecord, listActivity } from "../../workspaces/members/activity.js";
import type { Service } from "../../service.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";

export function activityRoutes(
  { postgres }: Service,
  installation: Calls<null>,
  workspace: Calls<Workspace>,
): void {
  const view = ({ created_at: at, workspace: _workspace, ...row }: ActivityRecord) => ({
    ...row,
    at,
  });
  workspace.list("/activity", "look", ({ id }, page) => listActivity(postgres, id, page), view);
  installation.list("/activity", "operate", (_, page) => listActivity(postgres, null, page), view);
}
