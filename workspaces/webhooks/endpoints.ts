/** Endpoints of outgoing webhooks as they are stored; their secrets are sealed. */
import type { z } from "zod";
import type { EventType, webhookEndpoint } from "../../schemas/http/outbound/webhooks.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { durably, insertRow, updateRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import type { Vault } from "../../stores/vault/vault.js";
import { type ListPage, newestFirst } from "../list-page.js";
import { News } from "../../runtime/lookout.js";

export const deliveryNews = new News();

export type DisabledBy = NonNullable<z.output<typeof webhookEndpoint>["disabled_by"]>;

export interface Endpoint {
  readonly id: string;
  readonly workspace: string;
  readonly environment: Environment;
  readonly url: string;
  readonly name: string | null;
  readonly events: readonly EventType[];
  /** As they were written, by name. */
  readonly filters: Readonly<Record<string, string>>;
  readonly secret_sealed: Buffer;
  readonly previous_secret_sealed: Buffer | null;
  readonly previous_valid_until: Date | null;
  readonly failures: number;
  readonly failing_since: Date | null;
  readonly wait_until: Date | null;
  readonly problem: string | null;
  readonly disabled_at: Date | null;
  readonly disabled_by: DisabledBy | null;
  readonly created_at: Date;
}

export interface ActiveEndpoint extends Endpoint {
  /** What its segment filters by, as that was last; null, like the next: it is of none. */
  readonly segment_filters: Readonly<Record<string, string>> | null;
  /** Of the segment's list those asked about. */
  readonly segment_accounts: readonly string[] | null;
}

export type GivenEndpoint = Pick<
  Endpoint,
  "workspace" | "environment" | "url" | "name" | "events" | "filters"
>;

export const noFailures = {
  failures: 0,
  failing_since: null,
  wait_until: null,
  problem: null,
} satisfies Partial<Endpoint>;

export async function createEndpoint(
  sql: Sql,
  vault: Vault,
  given: GivenEndpoint,
  secret: string,
  now: Date,
): Promise<Endpoint> {
  const id = `whe_${randomBase62(20)}`;
  const made: Endpoint = {
    id,
    ...given,
    secret_sealed: vault.seal(Buffer.from(secret), boundToEndpoint(id)),
    previous_secret_sealed: null,
    previous_valid_until: null,
    ...noFailures,
    disabled_at: null,
    disabled_by: null,
    created_at: now,
  };
  await insertRow(sql, "webhook_endpoints", { ...made, filters: JSON.stringify(made.filters) });
  return made;
}

export function boundToEndpoint(id: string): Buffer {
  return Buffer.from(`webhook_endpoint:${id}:secret`);
}

/**
 * Those that sign now, newest first.
 * @throws SealBroken
 */
export function secretsOf(vault: Vault, endpoint: Endpoint, now: Date): string[] {
  const { id, previous_secret_sealed: previous, previous_valid_until: until } = endpoint;
  const isOldValid = previous !== null && until !== null && until > now;
  const sealed = [endpoint.secret_sealed, ...(isOldValid ? [previous] : [])];
  return sealed.map((one) => vault.open(one, boundToEndpoint(id)).toString());
}

export interface ListedEndpoint extends Endpoint {
  readonly pending: number;
}

const withPending = `SELECT e.*, (SELECT count(*)::int FROM webhook_deliveries
  WHERE endpoint = e.id AND state = 'pending') AS pending FROM webhook_endpoints e`;

export function listEndpoints(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<ListedEndpoint[]> {
  const select = `${withPending} WHERE workspace = $4`;
  return newestFirst<ListedEndpoint>(postgres, page, select, [workspace]);
}

/** Whether any endpoint, a disabled one too, filters by it. */
export async function isSegmentUsed(sql: Sql, workspace: string, segment: string) {
  const used = "SELECT 1 FROM webhook_endpoints WHERE workspace = $1 AND filters->>'segment' = $2";
  return (await sql.query(`${used} LIMIT 1`, [workspace, segment])).length > 0;
}

/** @returns why nobody gets live events of that type, a sentence; null: somebody does */
export async function whyNobodyTakes(
  sql: Sql,
  workspace: string,
  type: EventType,
): Promise<string | null> {
  const [found] = await sql.query<{ enabled: boolean | null }>(
    `SELECT bool_or(disabled_at IS NULL) AS enabled FROM webhook_endpoints
     WHERE workspace = $1 AND environment = 'live' AND $2 = ANY(events)`,
    [workspace, type],
  );
  if (found?.enabled === true) return null;
  return found?.enabled === false
    ? `Every webhook endpoint for ${type} is disabled.`
    : `No webhook endpoint of Production takes ${type} yet.`;
}

/** @returns null when the workspace has no such endpoint */
export async function findEndpoint(
  sql: Sql,
  workspace: string,
  id: string,
): Promise<ListedEndpoint | null> {
  const [row = null] = await sql.query<ListedEndpoint>(
    `${withPending} WHERE workspace = $1 AND id = $2`,
    [workspace, id],
  );
  return row;
}

type Changes = Partial<Pick<Endpoint, "url" | "name" | "events" | "filters">>;

export async function changeEndpoint(sql: Sql, id: string, changes: Changes): Promise<void> {
  const { filters, ...others } = changes;
  const columns = { ...others, ...(filters && { filters: JSON.stringify(filters) }) };
  if (Object.keys(columns).length > 0) await updateRow(sql, "webhook_endpoints", id, columns);
}

/** The old secret signs beside the new one until then; null: not any more. */
export async function rollSecret(
  postgres: Postgres,
  vault: Vault,
  id: string,
  secret: string,
  oldUntil: Date | null,
): Promise<void> {
  await durably(
    postgres,
    `UPDATE webhook_endpoints SET secret_sealed = $2, previous_valid_until = $3,
       previous_secret_sealed = CASE WHEN $3::timestamptz IS NULL THEN NULL ELSE secret_sealed END
     WHERE id = $1`,
    [id, vault.seal(Buffer.from(secret), boundToEndpoint(id)), oldUntil],
  );
}

/** Pending deliveries wait until it is enabled; what happens meanwhile it does not get. */
export async function disableEndpoint(
  sql: Sql,
  id: string,
  by: DisabledBy,
  now: Date,
): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE webhook_endpoints SET disabled_at = $2, disabled_by = $3
     WHERE id = $1 AND disabled_at IS NULL RETURNING id`,
    [id, now, by],
  );
  return rows.length > 0;
}

/** Pending deliveries are sent at once, even those that wait for a later try. */
export async function enableEndpoint(sql: Sql, id: string, now: Date): Promise<void> {
  const enabled = { ...noFailures, disabled_at: null, disabled_by: null };
  await updateRow(sql, "webhook_endpoints", id, enabled);
  await sql.query(
    `UPDATE webhook_deliveries SET due_at = $2, first_try_at = NULL
     WHERE endpoint = $1 AND state = 'pending'`,
    [id, now],
  );
  deliveryNews.announce();
}

export async function deleteEndpoint(postgres: Postgres, id: string): Promise<void> {
  await durably(postgres, "DELETE FROM webhook_endpoints WHERE id = $1", [id]);
}
