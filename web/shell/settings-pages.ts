/** Pages of the settings: not among the places that the first screen loads. */
import type { Place } from "./places.js";

export const settingsPages = [
  { path: "/settings/integrations", name: "Integrations" },
  { path: "/settings/keys", name: "API keys" },
  { path: "/settings/rejects", name: "Rejects" },
  { path: "/settings/members", name: "Members" },
  { path: "/settings/alerts", name: "Alerts" },
  { path: "/settings/digests", name: "Digests" },
  { path: "/settings/webhooks", name: "Webhooks" },
  { path: "/settings/proofs", name: "Proofs" },
  { path: "/settings/activity", name: "Workspace activity" },
  { path: "/settings/workspace", name: "Workspace" },
  { path: "/settings/assistants", name: "Assistants" },
  { path: "/settings/sign-in", name: "Sign-in" },
] as const satisfies readonly Place[];

/** For the owner of the installation. */
export const installationPages = [
  { path: "/installation/activity", name: "Installation activity" },
  { path: "/installation/audits", name: "Audits" },
  { path: "/installation/rates", name: "Rates" },
  { path: "/installation/backups", name: "Backups" },
] as const satisfies readonly Place[];
