/**
 * Deliveries: one row for each event and endpoint that wants it, made once however often the event
 * is read from the log. Those of one lane (an account) are sent in the order they were made.
 */
import { limits } from "../../config.js";
import { webhookDeliveryId } from "../../schemas/ids.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { durably } from "../../stores/postgres/rows.js";
import { type ListPage, newestFirst } from "../list-page.js";
import { type ActiveEndpoint, type Endpoint, deliveryNews } from "./endpoints.js";
import type { HappenedEvent } from "./wanted.js";

export interface Delivery {
  readonly id: string;
  readonly endpoint: string;
  readonly message: string;
  readonly type: string;
  readonly lane: string;
  readonly body: string;
  readonly state: "pending" | "delivered" | "failed";
  readonly due_at: Date;
  readonly tries: number;
  readonly first_try_at: Date | null;
  readonly status: number | null;
  readonly problem: string | null;
  readonly delivered_at: Date | null;
  readonly created_at: Date;
}

export interface NewDelivery extends Pick<Delivery, "endpoint" | "message" | "type" | "lane"> {
  readonly body: string;
}

/** @throws when it is larger than a message may be */
export function messageBody(
  { workspace, environment, at }: Omit<HappenedEvent, "type" | "subject">,
  type: string,
  data: unknown,
): string {
  const shown = environment === "live" ? "Production" : "Test";
  const timestamp = at.toISOString();
  const body = JSON.stringify({ type, timestamp, workspace, environment: shown, data });
  if (Buffer.byteLength(body) > limits.webhookPayloadBytesMax) {
    throw new Error(`a message of ${type} is larger than webhookPayloadBytesMax`);
  }
  return body;
}

/** @param accounts that their events are of: lists of segments are long */
export function activeEndpoints(
  sql: Sql,
  workspaces: readonly string[],
  accounts: readonly string[] = [],
): Promise<ActiveEndpoint[]> {
  return sql.query<ActiveEndpoint>(
    `SELECT e.*, r.filters AS segment_filters, CASE WHEN r.accounts IS NOT NULL THEN
       ARRAY(SELECT unnest(r.accounts) INTERSECT SELECT unnest($2::text[])) END AS segment_accounts
     FROM webhook_endpoints e
     LEFT JOIN segments s ON s.id = e.filters->>'segment' AND s.workspace = e.workspace
     LEFT JOIN segment_revisions r ON r.segment = s.id AND r.revision = s.revision
     WHERE e.disabled_at IS NULL AND e.workspace = ANY($1)`,
    [workspaces, [...new Set(accounts)]],
  );
}

/** @returns those of its endpoints that have more waiting than `pendingMax` */
export async function addDeliveries(
  postgres: Postgres,
  deliveries: readonly NewDelivery[],
  now: Date,
  pendingMax: number = limits.webhookPendingMax,
): Promise<string[]> {
  if (deliveries.length === 0) return [];
  const rows = deliveries.map((one) => ({
    id: webhookDeliveryId(one.endpoint, one.message),
    ...one,
    seq: nextSeq(now),
    state: "pending",
    due_at: now,
    tries: 0,
    created_at: now,
  }));
  const endpoints = [...new Set(deliveries.map(({ endpoint }) => endpoint))];
  const crowded = await postgres.transaction(async (sql) => {
    // A deleted endpoint gets nothing.
    await sql.query(
      `INSERT INTO webhook_deliveries
       SELECT made.* FROM json_populate_recordset(NULL::webhook_deliveries, $1::json) AS made
         JOIN webhook_endpoints ON webhook_endpoints.id = made.endpoint
       ON CONFLICT DO NOTHING`,
      [JSON.stringify(rows)],
    );
    return sql.query<{ id: string }>(
      `SELECT e AS id FROM unnest($1::text[]) AS e WHERE EXISTS (
         SELECT 1 FROM webhook_deliveries WHERE endpoint = e AND state = 'pending'
         ORDER BY seq OFFSET $2 LIMIT 1)`,
      [endpoints, pendingMax],
    );
  });
  deliveryNews.announce();
  return crowded.map(({ id }) => id);
}

/**
 * Increases within this process, even if its clock goes back; one process at a time adds to a lane.
 */
function nextSeq(now: Date): number {
  lastSeq = Math.max(lastSeq + 1, now.getTime() * seqsPerMs);
  return lastSeq;
}

const seqsPerMs = 1_000;
let lastSeq = 0;

/** Endpoints for which something is due, the longest waiting first. */
export function dueEndpoints(
  postgres: Postgres,
  now: Date,
  { others, rowsMax }: { readonly others: readonly string[]; readonly rowsMax: number },
): Promise<Pick<Endpoint, "id" | "workspace">[]> {
  return postgres.query(
    `SELECT id, workspace FROM webhook_endpoints e
     WHERE disabled_at IS NULL AND (wait_until IS NULL OR wait_until <= $1) AND id <> ALL($2)
       AND EXISTS (SELECT 1 FROM webhook_deliveries
         WHERE endpoint = e.id AND state = 'pending' AND due_at <= $1)
     ORDER BY wait_until NULLS LAST, id LIMIT $3`,
    [now, others, rowsMax],
  );
}

/** In order of sending; none of a lane in which an earlier one waits for its next try. */
export function dueDeliveries(
  sql: Sql,
  endpoint: string,
  now: Date,
  rowsMax: number,
): Promise<Delivery[]> {
  return sql.query<Delivery>(
    `SELECT * FROM webhook_deliveries d
     WHERE endpoint = $1 AND state = 'pending' AND due_at <= $2 AND NOT EXISTS (
       SELECT 1 FROM webhook_deliveries earlier WHERE earlier.endpoint = $1
         AND earlier.state = 'pending' AND earlier.lane = d.lane AND earlier.seq < d.seq
         AND earlier.due_at > $2)
     ORDER BY seq LIMIT $3`,
    [endpoint, now, rowsMax],
  );
}

export function listDeliveries(
  sql: Sql,
  endpoint: string,
  state: string | undefined,
  page: ListPage,
): Promise<Delivery[]> {
  const select =
    "SELECT * FROM webhook_deliveries WHERE endpoint = $4 AND ($5::text IS NULL OR state = $5)";
  return newestFirst<Delivery>(sql, page, select, [endpoint, state ?? null]);
}

export async function findDelivery(
  sql: Sql,
  endpoint: string,
  id: string,
): Promise<Delivery | null> {
  const [row = null] = await sql.query<Delivery>(
    "SELECT * FROM webhook_deliveries WHERE endpoint = $1 AND id = $2",
    [endpoint, id],
  );
  return row;
}

export interface Replayed {
  readonly endpoint: string;
  /** One of them; or all that were made since, or only the failed ones. */
  readonly of: { readonly id: string } | { readonly since: Date; readonly onlyFailed: boolean };
}

/**
 * They are sent at once, under the same `webhook-id`; the oldest first, so many at a time.
 * @returns when each was made
 */
export async function replayDeliveries(
  postgres: Postgres,
  { endpoint, of }: Replayed,
  now: Date,
): Promise<Date[]> {
  const isOne = "id" in of;
  const since = isOne ? new Date(0) : of.since;
  const states = isOne
    ? ["pending", "delivered", "failed"]
    : ["failed", ...(of.onlyFailed ? [] : ["delivered"])];
  const replayed = await postgres.transaction(async (sql) => {
    const rows = await sql.query<Pick<Delivery, "created_at">>(
      `UPDATE webhook_deliveries SET state = 'pending', due_at = $6, tries = 0,
         first_try_at = NULL
       WHERE id IN (SELECT id FROM webhook_deliveries
         WHERE endpoint = $1 AND created_at >= $2 AND state = ANY($3)
           AND ($4::text IS NULL OR id = $4)
         ORDER BY created_at LIMIT $5) RETURNING created_at`,
      [endpoint, since, states, isOne ? of.id : null, limits.webhookReplaysMax, now],
    );
    await sql.query("UPDATE webhook_endpoints SET wait_until = NULL WHERE id = $1", [endpoint]);
    return rows.map(({ created_at: at }) => at);
  });
  deliveryNews.announce();
  return replayed;
}

export async function forgetDeliveries(
  postgres: Postgres,
  before: Date,
  rowsMax: number,
): Promise<number> {
  const rows = await durably(
    postgres,
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE created_at < $1 ORDER BY created_at LIMIT $2)
     RETURNING id`,
    [before, rowsMax],
  );
  return rows.length;
}
