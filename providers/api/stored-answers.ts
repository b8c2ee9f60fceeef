/**
 * What providers' APIs answered, sealed beside the raw record it was asked for, so that a replay
 * of the raw topic reads the same and asks nothing.
 */
import { z } from "zod";
import type { RawEventMeta } from "../../schemas/records/records.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { AskedTogether } from "../../runtime/batch-loader.js";
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

/** A raw record, and for which of its steps the API was asked. */
interface Asked extends Asking {
  readonly step: EnrichmentStep;
}

export type StoredAnswers = ReturnType<typeof openStoredAnswers>;

/** A batch of events asks for its answers at the same time, so they share statements. */
export function openStoredAnswers(postgres: Postgres, vault: Vault) {
  const recalled = new AskedTogether(answersAtOnce, (asked: readonly Asked[]) =>
    recall(postgres, vault, asked),
  );
  const kept = new AskedTogether(answersAtOnce, (keeping: readonly Keeping[]) =>
    keep(postgres, vault, keeping),
  );
  const published = new AskedTogether(answersAtOnce, (asked: readonly Asked[]) =>
    markPublished(postgres, asked),
  );
  return {
    /**
     * Those of this very record; else, unless it is the replay of a reject, those an earlier
     * delivery of the same event was read with; null: it has to be asked.
     */
    recall: (event: Asking, step: EnrichmentStep) => recalled.ask({ ...placeOf(event), step }),
    /**
     * The first answers kept for a record stay, so that a repeat of the batch reads what was
     * booked. Their time may still change until they are published.
     */
    keep: (event: Asking, step: EnrichmentStep, answers: KeptAnswers): Promise<void> =>
      kept.ask({ ...placeOf(event), step, answers }),
    markPublished: (event: Asking, step: EnrichmentStep): Promise<void> =>
      published.ask({ ...placeOf(event), step }),
  };
}

/** An event has few answers, but one may be a list of a hundred objects. */
const answersAtOnce = 50;

async function recall(
  postgres: Postgres,
  vault: Vault,
  asked: readonly Asked[],
): Promise<(one: Asked, at: number) => KeptAnswers | null> {
  const rows = await postgres.query<{
    at: number;
    received_at: bigint;
    answered_at: bigint;
    concluded: boolean;
    published: boolean;
    sealed: Buffer;
  }>(
    `SELECT asked.at::int AS at, kept.* FROM ${askedList}
       WITH ORDINALITY AS asked (workspace, event_id, received_at, step, at)
     CROSS JOIN LATERAL (
       SELECT received_at, answered_at, concluded, published, sealed FROM kept_answers AS kept
       WHERE kept.workspace = asked.workspace AND kept.event_id = asked.event_id
         AND kept.step = asked.step AND (kept.received_at = asked.received_at
           OR kept.received_at < asked.received_at AND kept.concluded)
       ORDER BY kept.received_at DESC LIMIT 1) AS kept`,
    columnsOf(asked),
  );
  const found = new Map(rows.map((row) => [row.at - 1, row]));
  return (one, at) => {
    const row = found.get(at);
    if (row === undefined) return null;
    const from = { ...one, received_at: Number(row.received_at) };
    const text = openSealed(vault, row.sealed, boundTo(from));
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
  };
}

interface Keeping extends Asked {
  readonly answers: KeptAnswers;
}

async function keep(
  postgres: Postgres,
  vault: Vault,
  keeping: readonly Keeping[],
): Promise<() => void> {
  // A statement may insert a row once only; a batch that is tried again may keep it twice at once.
  const latest = [...new Map(keeping.map((one) => [boundTo(one).toString(), one])).values()];
  const sealed = latest.map((one) => {
    const { answers, trouble, refusal } = one.answers;
    const text = JSON.stringify({ answers: Object.fromEntries(answers), trouble, refusal });
    return vault.seal(Buffer.from(text), boundTo(one));
  });
  await postgres.transaction((sql) =>
    sql.query(
      `INSERT INTO kept_answers AS kept
         (workspace, event_id, received_at, step, answered_at, concluded, published, sealed)
       SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[],
         $5::bigint[], $6::boolean[], $7::boolean[], $8::bytea[])
       ON CONFLICT (workspace, event_id, received_at, step) DO UPDATE
         SET answered_at = excluded.answered_at WHERE NOT kept.published`,
      [
        ...columnsOf(latest),
        latest.map(({ answers }) => answers.answeredAt),
        latest.map(({ answers }) => answers.concluded),
        latest.map(({ answers }) => answers.published),
        sealed,
      ],
    ),
  );
  return () => {};
}

async function markPublished(postgres: Postgres, asked: readonly Asked[]): Promise<() => void> {
  await postgres.query(
    `UPDATE kept_answers AS kept SET published = true
     FROM ${askedList} AS asked (workspace, event_id, received_at, step)
     WHERE kept.workspace = asked.workspace AND kept.event_id = asked.event_id
       AND kept.received_at = asked.received_at AND kept.step = asked.step`,
    columnsOf(asked),
  );
  return () => {};
}

const askedList = "unnest($1::text[], $2::text[], $3::bigint[], $4::text[])";

function columnsOf(asked: readonly Asked[]) {
  return [
    asked.map(({ workspace }) => workspace),
    asked.map(({ event_id: event }) => event),
    asked.map(({ received_at: at }) => at),
    asked.map(({ step }) => step),
  ];
}

function placeOf({ workspace, event_id, received_at }: Asking): Asking {
  return { workspace, event_id, received_at };
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

function boundTo({ workspace, event_id, received_at, step }: Asked): Buffer {
  return Buffer.from(JSON.stringify(["answers", workspace, event_id, received_at, step]));
}
