/** Every call of the management interface: who may make it, and what the activity log calls it. */
import type { Right } from "../../http/auth.js";

export interface ManageCall {
  readonly right: Right;
  /** Left out: it changes nothing. */
  readonly action?: string;
}

const workspace = "/workspaces/:workspace";

export const manageCalls: Readonly<Record<string, ManageCall>> = {
  "GET /providers": { right: "enter" },
  "POST /workspaces": { right: "found", action: "workspace.created" },
  "GET /workspaces": { right: "enter" },
  [`GET ${workspace}`]: { right: "look" },
  [`PATCH ${workspace}`]: { right: "own", action: "workspace.changed" },
  [`POST ${workspace}/keys`]: { right: "manage", action: "key.created" },
  [`GET ${workspace}/keys`]: { right: "look" },
  [`DELETE ${workspace}/keys/:key`]: { right: "manage", action: "key.revoked" },
  [`POST ${workspace}/integrations`]: { right: "manage", action: "integration.created" },
  [`GET ${workspace}/integrations`]: { right: "look" },
  [`PATCH ${workspace}/integrations/:integration`]: {
    right: "manage",
    action: "integration.changed",
  },
  [`DELETE ${workspace}/integrations/:integration`]: {
    right: "manage",
    action: "integration.deleted",
  },
  [`POST ${workspace}/integrations/:integration/backfill`]: {
    right: "manage",
    action: "backfill.started",
  },
  [`GET ${workspace}/integrations/:integration/backfill`]: { right: "look" },
  [`GET ${workspace}/products`]: { right: "look" },
  [`PATCH ${workspace}/products/:product`]: { right: "manage", action: "product.changed" },
  [`POST ${workspace}/products/:product/merge`]: { right: "manage", action: "product.merged" },
  [`GET ${workspace}/rejects`]: { right: "look" },
  [`POST ${workspace}/rejects/replay`]: { right: "manage", action: "rejects.replayed" },
  [`POST ${workspace}/invitations`]: { right: "manage", action: "invitation.created" },
  [`GET ${workspace}/invitations`]: { right: "manage" },
  [`DELETE ${workspace}/invitations/:invitation`]: {
    right: "manage",
    action: "invitation.revoked",
  },
  [`GET ${workspace}/members`]: { right: "look" },
  [`PATCH ${workspace}/members/:member`]: { right: "manage", action: "member.changed" },
  // Everybody may leave; the handler asks for more where it is about somebody else.
  [`DELETE ${workspace}/members/:member`]: { right: "look", action: "member.removed" },
  [`GET ${workspace}/activity`]: { right: "look" },
  // Private views are everybody's own; the handlers ask for more where others see them.
  [`POST ${workspace}/views`]: { right: "look", action: "view.created" },
  [`GET ${workspace}/views`]: { right: "look" },
  [`PATCH ${workspace}/views/:view`]: { right: "look", action: "view.changed" },
  [`DELETE ${workspace}/views/:view`]: { right: "look", action: "view.deleted" },
  [`POST ${workspace}/annotations`]: { right: "manage", action: "annotation.created" },
  [`GET ${workspace}/annotations`]: { right: "look" },
  [`PATCH ${workspace}/annotations/:annotation`]: {
    right: "manage",
    action: "annotation.changed",
  },
  [`DELETE ${workspace}/annotations/:annotation`]: {
    right: "manage",
    action: "annotation.deleted",
  },
  "GET /activity": { right: "operate" },
  "GET /audits": { right: "operate" },
  "POST /audits": { right: "operate", action: "audit.started" },
  "GET /rates": { right: "operate" },
  "POST /backups": { right: "operate", action: "backup.started" },
  "GET /backups/last": { right: "operate" },
};
