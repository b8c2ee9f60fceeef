/** `GET …/activity`: who changed what, newest first; of a workspace, or of the installation. */
import { activity } from "../../schemas/http/members.js";
import { type ActivityRecord, listActivity } from "../../workspaces/members/activity.js";
import { ofInstallation, ofWorkspace } from "./calls.js";

const view = ({ created_at: at, workspace: _workspace, ...row }: ActivityRecord) => ({
  ...row,
  at,
});

export const activityRoutes = [
  ofWorkspace.list("/activity", "Who changed what, newest first", {
    right: "look",
    row: activity,
    read: ({ postgres, of }, page) => listActivity(postgres, of.id, page),
    view,
  }),
];

export const installationActivityRoutes = [
  ofInstallation.list("/activity", "The same of the installation", {
    right: "operate",
    row: activity,
    read: ({ postgres }, page) => listActivity(postgres, null, page),
    view,
  }),
];
