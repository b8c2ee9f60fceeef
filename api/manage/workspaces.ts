import { memberOf } from "../../http/state.js";
import { setCustomerDetails } from "../../workspaces/customers/customers.js";
import {
  type Workspace,
  createWorkspace,
  listWorkspaces,
  renameWorkspace,
} from "../../workspaces/workspaces.js";
import {
  changedWorkspace,
  newWorkspace,
  workspace as workspaceShape,
  workspaceSettings,
  workspaceWithSettings,
} from "../../schemas/http/manage.js";
import { ofInstallation, ofWorkspace } from "./calls.js";

export const workspaceRoutes = [
  ofInstallation.post("/workspaces", "Make a workspace", {
    right: "found",
    action: "workspace.created",
    body: newWorkspace,
    answer: workspaceShape,
    async run({ postgres, sessions, ctx, body }) {
      const made = await createWorkspace(postgres, body, new Date(), memberOf(ctx));
      sessions.forget();
      return workspaceView(made);
    },
  }),
  ofInstallation.list("/workspaces", "Workspaces", {
    right: "enter",
    row: workspaceShape,
    read: ({ postgres, ctx }, page) => listWorkspaces(postgres, page, memberOf(ctx)),
    view: workspaceView,
  }),
  ofWorkspace.get("", "One workspace", {
    right: "look",
    answer: workspaceShape,
    run: ({ of }) => workspaceView(of),
  }),
  ofWorkspace.get("/settings", "Its settings", {
    right: "look",
    answer: workspaceSettings,
    run: ({ of: { customer_details } }) => ({ customer_details }),
  }),
  ofWorkspace.patch("", "Change a workspace", {
    right: "own",
    action: "workspace.changed",
    body: changedWorkspace,
    answer: workspaceWithSettings,
    async run({ postgres, sessions, of, body }) {
      const { name = of.name, customer_details = of.customer_details } = body;
      if (name !== of.name) await renameWorkspace(postgres, of.id, name);
      if (customer_details !== of.customer_details) {
        await setCustomerDetails(postgres, of.id, customer_details);
      }
      // Sessions hold the name, and whether the member sees customers.
      sessions.forget();
      return { ...of, name, customer_details };
    },
  }),
];

function workspaceView({ customer_details: _settings, ...shown }: Workspace) {
  return shown;
}
