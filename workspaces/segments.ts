/**
 * Segments as they are stored. What changes figures makes a new revision, and every revision is
 * kept, also of what was deleted: frozen links name revisions.
 */
import { limits } from "../config.js";
import { conflict } from "../schemas/http/errors.js";
import type { SegmentFilters } from "../schemas/http/segments.js";
import type { Environment, Tenant } from "../schemas/records/records.js";
import type { Postgres, Sql } from "../stores/postgres/postgres.js";
import { insertRow } from "../stores/postgres/rows.js";
import { randomBase62 } from "../stores/vault/random.js";
import { type ListPage, newestFirst } from "./list-page.js";

export interface Segment {
  readonly id: string;
  readonly environment: Environment;
  readonly name: string;
  readonly revision: number;
  readonly filters: SegmentFilters;
  /** How many accounts its list has; null: it has none. */
  readonly accounts: number | null;
  readonly created_at: Date;
}

/** What it filters by. */
export interface SegmentContent {
  readonly filters: SegmentFilters;
  /** Keyed hashes; null: of all accounts. */
  readonly accounts: readonly string[] | null;
}

const select = `SELECT id, environment, name, revision, created_at,
  (SELECT filters FROM segment_revisions r WHERE r.segment = id AND r.revision = s.revision),
  (SELECT cardinality(accounts) FROM segment_revisions r
   WHERE r.segment = id AND r.revision = s.revision) AS accounts
  FROM segments s`;

export function listSegments(sql: Sql, workspace: string, page: ListPage): Promise<Segment[]> {
  const own = `${select} WHERE workspace = $4 AND deleted_at IS NULL`;
  return newestFirst<Segment>(sql, page, own, [workspace]);
}

export async function findSegment(
  sql: Sql,
  workspace: string,
  id: string,
): Promise<Segment | null> {
  const own = `${select} WHERE workspace = $1 AND id = $2 AND deleted_at IS NULL`;
  const [found = null] = await sql.query<Segment>(own, [workspace, id]);
  return found;
}

/** Of those that are not deleted, by id. */
export async function segmentNames(
  sql: Sql,
  workspace: string,
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query<Pick<Segment, "id" | "name">>(
    "SELECT id, name FROM segments WHERE workspace = $1 AND deleted_at IS NULL",
    [workspace],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Within a transaction that has looked whether there is room. */
export async function insertSegment(
  sql: Sql,
  given: Pick<Segment, "environment" | "name"> & { readonly workspace: string },
  content: SegmentContent,
  now: Date,
): Promise<Segment> {
  const { workspace, environment, name } = given;
  const row = { id: `seg_${randomBase62(20)}`, environment, name, revision: 1, created_at: now };
  await requireRevisionRoom(sql, workspace, content);
  await insertRow(sql, "segments", { ...row, workspace });
  await insertRevision(sql, row, content, now);
  return { ...row, filters: content.filters, accounts: content.accounts?.length ?? null };
}

/** @param content null: only the name is another one */
export function changeSegment(
  postgres: Postgres,
  workspace: string,
  { id, environment }: Pick<Segment, "id" | "environment">,
  name: string,
  change: (before: SegmentContent) => SegmentContent | null,
  now: Date,
): Promise<void> {
  return postgres.transaction(async (sql) => {
    // Who changes it at the same time waits, and begins with what was written.
    const lock = "SELECT revision FROM segments WHERE id = $1 FOR UPDATE";
    const [held] = await sql.query<{ readonly revision: number }>(lock, [id]);
    const revision = held?.revision ?? 0;
    const before = await contentOf(sql, { workspace, environment }, { id, revision });
    const content = before && change(before);
    if (content === null) {
      await sql.query("UPDATE segments SET name = $2 WHERE id = $1", [id, name]);
      return;
    }
    await requireRevisionRoom(sql, workspace, content);
    const next = revision + 1;
    await insertRevision(sql, { id, revision: next }, content, now);
    const update = "UPDATE segments SET name = $2, revision = $3 WHERE id = $1";
    await sql.query(update, [id, name, next]);
  });
}

export function deleteSegment(postgres: Postgres, id: string, now: Date): Promise<void> {
  return postgres.transaction(async (sql) => {
    await sql.query("UPDATE segments SET deleted_at = $2 WHERE id = $1", [id, now]);
  });
}

/** @returns null when there is no such segment, or it was deleted */
export async function newestRevision(
  sql: Sql,
  { workspace, environment }: Tenant,
  id: string,
): Promise<number | null> {
  const [found] = await sql.query<{ readonly revision: number }>(
    `SELECT revision FROM segments
     WHERE id = $1 AND workspace = $2 AND environment = $3 AND deleted_at IS NULL`,
    [id, workspace, environment],
  );
  return found?.revision ?? null;
}

/** Of a deleted segment, too. It never changes. */
export async function contentOf(
  sql: Sql,
  { workspace, environment }: Tenant,
  { id, revision }: { readonly id: string; readonly revision: number },
): Promise<SegmentContent | null> {
  const [found = null] = await sql.query<SegmentContent>(
    `SELECT r.filters, r.accounts FROM segment_revisions r JOIN segments s ON s.id = r.segment
     WHERE r.segment = $1 AND r.revision = $2 AND s.workspace = $3 AND s.environment = $4`,
    [id, revision, workspace, environment],
  );
  return found;
}

async function insertRevision(
  sql: Sql,
  { id, revision }: Pick<Segment, "id" | "revision">,
  { filters, accounts }: SegmentContent,
  now: Date,
): Promise<void> {
  await insertRow(sql, "segment_revisions", {
    segment: id,
    revision,
    filters: JSON.stringify(filters),
    accounts,
    created_at: now,
  });
}

/** @throws ApiError 409: revisions are kept for ever */
async function requireRevisionRoom(
  sql: Sql,
  workspace: string,
  { accounts }: SegmentContent,
): Promise<void> {
  const [kept] = await sql.query<{ readonly revisions: number; readonly accounts: number }>(
    `SELECT count(*)::int AS revisions, coalesce(sum(cardinality(accounts)), 0)::int AS accounts
     FROM segment_revisions r JOIN segments s ON s.id = r.segment WHERE s.workspace = $1`,
    [workspace],
  );
  const { segmentRevisionsMax: revisionsMax, segmentAccountsKeptMax: accountsMax } = limits;
  const isFull = (kept?.revisions ?? 0) >= revisionsMax;
  if (!isFull && (kept?.accounts ?? 0) + (accounts?.length ?? 0) <= accountsMax) return;
  throw conflict(
    "segment_revisions_full",
    `A workspace keeps up to ${revisionsMax} revisions of segments, with ${accountsMax} listed ` +
      "accounts, since frozen links may show any of them.",
  );
}
