import { readJson } from "../../http/body.js";
import { memberOf } from "../../http/state.js";
import { setCustomerDetails } from "../../workspaces/customers/setting.js";
import type { Service } from "../../service.js";
import {
  type Workspace,
  createWorkspace,
  listWorkspaces,
  renameWorkspace,
} from "../../workspaces/workspaces.js";
import { changedWorkspace, newWorkspace } from "../../schemas/http/manage.js";
import type { Calls } from "./calls.js";
import { workspaceView, workspaceWithSettings } from "./views.js";

export function workspaceRoutes(
  { postgres, sessions }: Service,
  installation: Calls<null>,
  workspace: Calls<Workspace>,
): void {
  const created = { right: "found", action: "workspace.created", status: 201 } as const;
  installation.write("POST", "/workspaces", created, async (ctx) => {
    const given = readJson(ctx, newWorkspace);
    const made = await createWorkspace(postgres, given, new Date(), memberOf(ctx));
    sessions.forget();
    return workspaceView(made);
  });

  installation.list(
    "/workspaces",
    "enter",
    (_, page, ctx) => listWorkspaces(postgres, page, memberOf(ctx)),
    workspaceView,
  );

  workspace.get("", "look", (_, found) => workspaceView(found));
  workspace.get("/settings", "look", (_, { customer_details }) => ({ customer_details }));

  workspace.write(
    "PATCH",
    "",
    { right: "own", action: "workspace.changed" },
    async (ctx, found) => {
      const { name = found.name, customer_details = found.customer_details } = readJson(
        ctx,
        changedWorkspace,
      );
      if (name !== found.name) await renameWorkspace(postgres, found.id, name);
      if (customer_details !== found.customer_details) {
        await setCustomerDetails(postgres, found.id, customer_details);
      }
      // Sessions hold the name, and whether the member sees customers.
      sessions.forget();
      return workspaceWithSettings({ ...found, name, customer_details });
    },
  );
}
