/** The next step of a screen without events, for members who may take it. */
import { mayManage, workspaceOf } from "../state/session.js";
import type { View } from "../state/view.js";

export function connectAction(
  view: View,
): { readonly href: string; readonly label: string } | null {
  if (!mayManage(workspaceOf(view.workspace))) return null;
  return { href: view.to("/settings/integrations"), label: "Connect a provider" };
}
