/** Stored things as JSON: environments in the words of `spec.md` 5.3, times in ISO 8601. */
import type { ProductRecord } from "../../workspaces/catalogue/edits.js";
import { shownSlug } from "../../workspaces/catalogue/view.js";
import type { IntegrationRecord } from "../../workspaces/integration-records.js";
import type { KeyRecord } from "../../workspaces/key-records.js";
import type { RejectListRow } from "../../workspaces/rejects/rejects.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type {
  IntegrationView,
  KeyView,
  ManagedProduct,
  RejectView,
  WorkspaceView,
  WorkspaceWithSettings,
} from "../../schemas/http/manage.js";
import type { Environment } from "../../schemas/records/records.js";

export type ShownEnvironment = "Production" | "Test";

export function storedEnvironment(shown: ShownEnvironment): Environment {
  return shown === "Production" ? "live" : "test";
}

export function shownEnvironment(stored: Environment): ShownEnvironment {
  return stored === "live" ? "Production" : "Test";
}

export function workspaceView(row: Workspace): WorkspaceView {
  const { id, name, base_currency } = row;
  return { id, name, base_currency, created_at: row.created_at.toISOString() };
}

export function viewWithSettings(row: Workspace): WorkspaceWithSettings {
  return { ...workspaceView(row), customer_details: row.customer_details };
}

/** Never the key itself. */
export function keyView(row: KeyRecord): KeyView {
  const { id, prefix, scope, name } = row;
  return {
    id,
    prefix,
    environment: shownEnvironment(row.environment),
    scope,
    name,
    created_at: row.created_at.toISOString(),
    expires_at: timeOrNull(row.expires_at),
    revoked_at: timeOrNull(row.revoked_at),
    last_used_at: timeOrNull(row.last_used_at),
  };
}

/** @param publicUrl the beginning of webhook URLs */
export function integrationView(row: IntegrationRecord, publicUrl: string): IntegrationView {
  const { id, provider, name, token } = row;
  const path = `/v1/webhooks/${token}`;
  return {
    id,
    provider,
    environment: shownEnvironment(row.environment),
    name,
    webhook_url: `${publicUrl}${path}`,
    webhook_path: path,
    created_at: row.created_at.toISOString(),
    credentials_set: [...row.credentials_set],
    old_credentials_valid_until: timeOrNull(row.previous_valid_until),
  };
}

export function productView(row: ProductRecord): ManagedProduct {
  const { id, name, category, skus } = row;
  return {
    id,
    name,
    slug: shownSlug(row),
    category,
    environment: shownEnvironment(row.environment),
    skus: [...skus],
    created_at: row.created_at.toISOString(),
  };
}

export function rejectView(row: RejectListRow): RejectView {
  const { provider, native_type, step, reason, detail, state } = row;
  return {
    id: row.event_id,
    provider,
    environment: shownEnvironment(row.environment),
    native_type,
    received_at: `${row.received_at.replace(" ", "T")}Z`,
    step,
    reason,
    detail,
    state,
  };
}

function timeOrNull(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
