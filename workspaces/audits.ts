/** Audits as they are requested, run and listed: one row each in Postgres. */
import { limits } from "../config.js";
import { auditFinding, type AuditFinding } from "../schemas/audit.js";
import { type ListPage, newestFirst } from "./list-page.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import { updateRow } from "../stores/postgres/rows.js";
import { randomBase62 } from "../stores/vault/random.js";
import { News } from "../runtime/lookout.js";

const auditFindingsMax = 1_000;
const auditsKeptMax = 1_000;

export interface AuditRecord {
  readonly id: string;
  readonly asked_by: "night" | "administrator" | "command";
  /** Null: every workspace. */
  readonly workspace: string | null;
  readonly state: "waiting" | "running" | "clean" | "different" | "failed";
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly rows_compared: bigint;
  readonly differences: bigint;
  readonly findings: readonly AuditFinding[];
  readonly failure: string | null;
}

type Asked = Pick<AuditRecord, "asked_by" | "workspace">;

const columns =
  "id, asked_by, workspace, state, created_at, started_at, ended_at, rows_compared, " +
  "differences, findings, failure";

export const auditNews = new News();

/** @returns null when one of the same scope waits already */
export async function askAudit(
  postgres: Postgres,
  { asked_by, workspace }: Asked,
  now: Date,
): Promise<AuditRecord | null> {
  const [row] = await postgres.transaction(async (sql) => {
    await sql.query(
      `DELETE FROM audits WHERE id IN (
         SELECT id FROM audits ORDER BY created_at DESC, id DESC OFFSET $1)`,
      [auditsKeptMax - 1],
    );
    return sql.query<AuditRecord>(
      `INSERT INTO audits (id, asked_by, workspace, state, created_at)
       SELECT $1, $2, $3, 'waiting', $4
       WHERE NOT EXISTS (
         SELECT 1 FROM audits WHERE state = 'waiting' AND workspace IS NOT DISTINCT FROM $3)
       RETURNING ${columns}`,
      [`aud_${randomBase62(20)}`, asked_by, workspace, now],
    );
  });
  auditNews.announce();
  return row === undefined ? null : checked(row);
}

/** The oldest that waits, for one process only. */
export async function takeAudit(postgres: Postgres, now: Date): Promise<AuditRecord | null> {
  const [row] = await postgres.query<AuditRecord>(
    `UPDATE audits SET state = 'running', started_at = $1
     WHERE id = (
       SELECT id FROM audits WHERE state = 'waiting'
       ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING ${columns}`,
    [now],
  );
  return row === undefined ? null : checked(row);
}

export async function endAudit(
  postgres: Postgres,
  id: string,
  found: readonly AuditFinding[],
  now: Date,
): Promise<void> {
  const wrong = found.filter(({ differences }) => differences > 0);
  const total = (name: "rows" | "differences") =>
    found.reduce((sum, finding) => sum + finding[name], 0);
  await postgres.transaction((sql) =>
    updateRow(sql, "audits", id, {
      state: wrong.length > 0 ? "different" : "clean",
      ended_at: now,
      rows_compared: total("rows"),
      differences: total("differences"),
      findings: JSON.stringify(wrong.slice(0, auditFindingsMax)),
    }),
  );
}

export async function failAudit(
  postgres: Postgres,
  id: string,
  failure: string,
  now: Date,
): Promise<void> {
  await updateRow(postgres, "audits", id, { state: "failed", ended_at: now, failure });
}

/** Audits that began and never ended, although no process runs one, begin anew. */
export async function resumeAudits(postgres: Postgres): Promise<void> {
  await postgres.query("UPDATE audits SET state = 'waiting' WHERE state = 'running'");
}

export async function hasAudits(postgres: Postgres): Promise<boolean> {
  const rows = await postgres.query(
    "SELECT 1 FROM audits WHERE state IN ('waiting', 'running') LIMIT 1",
  );
  return rows.length > 0;
}

export async function listAudits(postgres: Postgres, page: ListPage): Promise<AuditRecord[]> {
  const select = `SELECT ${columns} FROM audits WHERE true`;
  const rows = await newestFirst<AuditRecord>(postgres, page, select, []);
  return rows.map(checked);
}

export async function newestAudit(postgres: Postgres): Promise<AuditRecord | null> {
  const [row] = await postgres.query<AuditRecord>(
    `SELECT ${columns} FROM audits
     WHERE workspace IS NULL AND state IN ('clean', 'different')
     ORDER BY ended_at DESC LIMIT 1`,
  );
  return row === undefined ? null : checked(row);
}

/** Whether an audit of all workspaces was requested since then and has not failed. */
export async function wasAuditAsked(postgres: Postgres, since: Date): Promise<boolean> {
  const rows = await postgres.query(
    `SELECT 1 FROM audits
     WHERE workspace IS NULL AND state <> 'failed' AND created_at >= $1 LIMIT 1`,
    [since],
  );
  return rows.length > 0;
}

/** Whether there is something to audit, and no full audit ended for `limits.auditOverdueMs`. */
export async function isAuditOverdue(postgres: Postgres, now: Date): Promise<boolean> {
  const [row] = await postgres.query<{ overdue: boolean | null }>(
    `SELECT coalesce(
       (SELECT max(ended_at) FROM audits
        WHERE workspace IS NULL AND state IN ('clean', 'different')),
       (SELECT min(created_at) FROM workspaces)) < $1 AS overdue`,
    [new Date(now.getTime() - limits.auditOverdueMs)],
  );
  return row?.overdue === true;
}

/** JSON columns are parsed like any other JSON. */
function checked(row: AuditRecord): AuditRecord {
  return { ...row, findings: auditFinding.array().parse(row.findings) };
}
