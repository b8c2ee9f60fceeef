/**
 * What providers' APIs answered, sealed beside the raw record it was asked for, so that a replay
 * of the raw topic reads the same and asks nothing.
 */
import { z } from "zod";
import type { RawEventMeta } from "../../schemas/records/records.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import type { Service } from "../../service.js";
import { SealBroken, type Vault } from "../../stores/vault/vault.js";

export type EnrichmentStep = "complete" | "enrich";

export interface KeptAnswers {
  /** JSON text by path; null: the API has no such thing. What was not to be had is not there. */
  readonly answers: ReadonlyMap<string, string | null>;
  /** By the receipt clock: the recorded time of what the answers add. */
  readonly answeredAt: number;
  /** The event could be read with them. */
  readonly concluded: boolean;
  /** What they add is on its way, received at `answeredAt`; else it is received anew. */
  readonly published: boolean;
  /** Why something may be had later; null when all was answered or nothing may be asked. */
  readonly trouble: string | null;
  /** Why these credentials get no answer. */
  readonly refusal: string | null;
}

type Asking = Pick<RawEventMeta, "workspace" | "event_id" | "received_at">;

/**
 * Those of this very record; else, unless it is the replay of a reject, those an earlier delivery
 * of the same event was read with; null: it has to be asked.
 */
export async function recallAnswers(
  postgres: Postgres,
  vault: Vault,
  event: Asking,
  step: EnrichmentStep,
): Promise<KeptAnswers | null> {
  const [row] = await postgres.query<{
    received_at: bigint;
    answered_at: bigint;
    concluded: boolean;
    published: boolean;
    sealed: Buffer;
  }>(
    `SELECT received_at, answered_at, concluded, published, sealed FROM kept_answers
     WHERE workspace = $1 AND event_id = $2 AND step = $4
       AND (received_at = $3 OR received_at < $3 AND concluded)
     ORDER BY received_at DESC LIMIT 1`,
    [event.workspace, event.event_id, event.received_at, step],
  );
  if (row === undefined) return null;
  const from = { ...event, received_at: Number(row.received_at) };
  const text = openSealed(vault, row.sealed, boundTo(from, step));
  if (text === null) return null;
  const { answers, trouble, refusal } = document.parse(JSON.parse(text));
  return {
    answers: new Map(Object.entries(answers)),
    trouble,
    refusal,
    answeredAt: Number(row.answered_at),
    concluded: row.concluded,
    published: row.published,
  };
}

/**
 * The first answers kept for a record stay, so that a repeat of the batch reads what was booked.
 * Their time may still change until they are published.
 */
export async function keepAnswers(
  postgres: Postgres,
  vault: Vault,
  event: Asking,
  step: EnrichmentStep,
  { answers, trouble, refusal, answeredAt, concluded, published }: KeptAnswers,
): Promise<void> {
  const text = JSON.stringify({ answers: Object.fromEntries(answers), trouble, refusal });
  const sealed = vault.seal(Buffer.from(text), boundTo(event, step));
  await postgres.transaction((sql) =>
    sql.query(
      `INSERT INTO kept_answers AS kept
         (workspace, event_id, received_at, step, answered_at, concluded, published, sealed)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (workspace, event_id, received_at, step) DO UPDATE
         SET answered_at = excluded.answered_at WHERE NOT kept.published`,
      [...placeOf(event, step), answeredAt, concluded, published, sealed],
    ),
  );
}

/**
 * Whether any answers are kept for a workspace. A replay reads them, also when the credentials they
 * were had with are gone. Another process's first answer is seen within `answersSeenMs`.
 */
export function answersOf(postgres: Postgres): (workspace: string) => Promise<boolean> {
  const cache = new ExpiringCache({
    ttlMs: answersSeenMs,
    ttlMsOf: (isKept) => (isKept ? Infinity : answersSeenMs),
    entriesMax: workspacesKeptMax,
    load: async (workspace: string) => {
      const rows = await postgres.query("SELECT 1 FROM kept_answers WHERE workspace = $1 LIMIT 1", [
        workspace,
      ]);
      return rows.length > 0;
    },
  });
  return (workspace) => cache.get(workspace);
}

const answersSeenMs = 4_000;
const workspacesKeptMax = 10_000;

export async function markPublished(
  postgres: Postgres,
  event: Asking,
  step: EnrichmentStep,
): Promise<void> {
  await postgres.query(
    `UPDATE kept_answers SET published = true
     WHERE workspace = $1 AND event_id = $2 AND received_at = $3 AND step = $4`,
    placeOf(event, step),
  );
}

function placeOf({ workspace, event_id, received_at }: Asking, step: EnrichmentStep) {
  return [workspace, event_id, received_at, step] as const;
}

/** They go with the raw events they belong to (`RAW_RETENTION_DAYS`); looked at now and then. */
export function forgetOldAnswers({
  config,
  logger,
  postgres,
  releases,
}: Pick<Service, "config" | "logger" | "postgres" | "releases">): void {
  const days = config.RAW_RETENTION_DAYS;
  if (days === undefined) return;
  const timer = setInterval(() => {
    forgetAnswers(postgres, Date.now() - days * dayMs).catch((err: unknown) =>
      logger.warn({ err }, "old answers could not be removed"),
    );
  }, forgetEveryMs);
  timer.unref();
  releases.push("old answers", () => clearInterval(timer));
}

/**
 * So many in a statement: a server ends one that is about years of them, each time anew.
 * @param before ms since 1970, of receipt
 * @returns how many
 */
export async function forgetAnswers(
  postgres: Postgres,
  before: number,
  rowsMax = forgottenAtOnce,
): Promise<number> {
  let forgotten = 0;
  for (;;) {
    const rows = await postgres.query(
      `DELETE FROM kept_answers WHERE (workspace, event_id, received_at, step) IN (
         SELECT workspace, event_id, received_at, step FROM kept_answers
         WHERE received_at < $1 LIMIT $2)
       RETURNING received_at`,
      [before, rowsMax],
    );
    forgotten += rows.length;
    if (rows.length < rowsMax) return forgotten;
  }
}

const forgottenAtOnce = 5_000;
const dayMs = 24 * 60 * 60 * 1000;
const forgetEveryMs = 60 * 60 * 1000;

/** Null: it was changed, or its key is gone; then it is asked again. */
function openSealed(vault: Vault, sealed: Buffer, associated: Buffer): string | null {
  try {
    return vault.open(sealed, associated).toString();
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}

const document = z.object({
  answers: z.record(z.string(), z.string().nullable()),
  trouble: z.string().nullable(),
  refusal: z.string().nullable(),
});

function boundTo({ workspace, event_id, received_at }: Asking, step: EnrichmentStep): Buffer {
  return Buffer.from(JSON.stringify(["answers", workspace, event_id, received_at, step]));
}
