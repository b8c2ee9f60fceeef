/**
 * What was promised to callers of the ingest endpoint (`definitions.md`, Idempotency): the same
 * event id, or the same Idempotency-Key, gets the same answer again.
 *
 * The order is: claim, append to the log, mark durable. A crash after the claim leaves a claim
 * that is not durable, and a repeat appends again; booking takes the repeat out. So a claim never
 * keeps an event from being taken, and a marked one is never taken twice. Marks are written behind
 * the answer, in order, many at once.
 */
import { setImmediate as letOthersRun } from "node:timers/promises";
import { limits } from "../config.js";
import type { Tenant } from "../schemas/records/records.js";
import type { Logger } from "../runtime/logger.js";
import type { Postgres } from "../stores/postgres/postgres.js";

/** One event with all its identities; all of them or none are claimed. */
export interface Claim {
  /** `event:…` is kept for ever, anything else 24 h after the event is durable. */
  readonly identities: readonly string[];
  /** Of the body's meaning; another body under the same identity is refused. */
  readonly bodyHash: Buffer;
  /** JSON, returned for a repeat. */
  readonly answer: unknown;
}

export type Claimed =
  | { readonly outcome: "fresh" }
  /** Claimed before with the same body; not `durable`: it has to be appended again. */
  | { readonly outcome: "repeat"; readonly answer: unknown; readonly durable: boolean }
  | { readonly outcome: "conflict"; readonly identity: string };

export interface Receipts {
  /** No identity may stand in two claims. The outcomes are in order. */
  claim(owner: Tenant, claims: readonly Claim[]): Promise<Claimed[]>;
  /** What claiming would find, without claiming. In order, too. */
  recall(owner: Tenant, claims: readonly Omit<Claim, "answer">[]): Promise<Claimed[]>;
  /** Resolves at once unless too many marks wait to be written. */
  markDurable(owner: Tenant, identities: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const claimTriesMax = 5;
const marksWaitingMax = 50_000;
/** Of one statement: the embedded Postgres works in this thread, and all else waits for it. */
const rowsAtOnceMax = 1_000;
const purgeEveryMs = 60 * 60 * 1000;
const purgeRowsMax = 50_000;

export function openReceipts(options: {
  readonly postgres: Postgres;
  readonly logger: Logger;
}): Receipts {
  const { postgres, logger } = options;
  const marks = new Marks(postgres, logger);
  const timer = setInterval(() => {
    purge(postgres).catch((error: unknown) => logger.warn({ err: error }, "receipts not purged"));
  }, purgeEveryMs);
  timer.unref();
  return {
    claim: (owner, claims) => someAtOnce(claims, (some) => claim(postgres, owner, some)),
    recall: (owner, claims) => someAtOnce(claims, (some) => recall(postgres, owner, some)),
    markDurable: (owner, identities) => marks.add(owner, identities),
    async close() {
      clearInterval(timer);
      await marks.close();
    },
  };
}

async function someAtOnce<One>(
  all: readonly One[],
  ask: (some: readonly One[]) => Promise<Claimed[]>,
): Promise<Claimed[]> {
  const outcomes: Claimed[] = [];
  for (let from = 0; from < all.length; from += rowsAtOnceMax) {
    if (from > 0) await letOthersRun();
    outcomes.push(...(await ask(all.slice(from, from + rowsAtOnceMax))));
  }
  return outcomes;
}

interface ReceiptRow {
  readonly identity: string;
  readonly body_hash: Buffer;
  readonly answer: unknown;
  readonly durable: boolean;
}

async function claim(
  postgres: Postgres,
  owner: Tenant,
  claims: readonly Claim[],
): Promise<Claimed[]> {
  const inserted = new Set<string>();
  // Claims of one identity each can be inserted without a look; of several, all or none are.
  let rows = claims.some(({ identities }) => identities.length > 1)
    ? await recallRows(postgres, owner, claims)
    : new Map<string, ReceiptRow>();
  for (let tries = 1; tries <= claimTriesMax; tries += 1) {
    const outcomes = claims.map((one) => outcomeOf(one, rows, inserted));
    // Of an event with a conflict none is claimed.
    const missing = claims
      .filter((_, index) => outcomes[index]?.outcome !== "conflict")
      .flatMap(({ identities, bodyHash, answer }) =>
        identities
          .filter((identity) => !rows.has(identity))
          .map((identity) => ({ identity, hash: bodyHash.toString("hex"), answer })),
      );
    if (missing.length === 0) return outcomes;
    for (const identity of await insert(postgres, owner, missing)) inserted.add(identity);
    if (missing.every(({ identity }) => inserted.has(identity))) return outcomes;
    // One of them belongs to another claim, from before or just now.
    rows = await recallRows(postgres, owner, claims);
  }
  throw new Error("identities stayed neither free nor taken");
}

async function recall(
  postgres: Postgres,
  owner: Tenant,
  claims: readonly Omit<Claim, "answer">[],
): Promise<Claimed[]> {
  const rows = await recallRows(postgres, owner, claims);
  return claims.map((one) => outcomeOf(one, rows));
}

async function recallRows(
  postgres: Postgres,
  owner: Tenant,
  claims: readonly Pick<Claim, "identities">[],
): Promise<ReadonlyMap<string, ReceiptRow>> {
  const found = await postgres.query<ReceiptRow>(
    `SELECT identity, body_hash, answer, durable FROM ingest_receipts
     WHERE workspace = $1 AND environment = $2 AND identity = ANY ($3::text[])
       AND (expires_at IS NULL OR expires_at > now())`,
    [owner.workspace, owner.environment, claims.flatMap(({ identities }) => identities)],
  );
  return new Map(found.map((row) => [row.identity, row]));
}

/** @param inserted identities that this very call has claimed */
function outcomeOf(
  { identities, bodyHash }: Omit<Claim, "answer">,
  rows: ReadonlyMap<string, ReceiptRow>,
  inserted: ReadonlySet<string> = new Set(),
): Claimed {
  let repeated: ReceiptRow | undefined;
  for (const identity of identities) {
    const row = rows.get(identity);
    if (row === undefined) continue;
    if (!row.body_hash.equals(bodyHash)) return { outcome: "conflict", identity };
    if (!inserted.has(identity) && (repeated === undefined || row.durable)) repeated = row;
  }
  if (repeated === undefined) return { outcome: "fresh" };
  return { outcome: "repeat", answer: repeated.answer, durable: repeated.durable };
}

/**
 * In the order of identities, so that two calls never wait for each other. An expired row is taken
 * over.
 * @returns the identities that nobody else had inserted meanwhile
 */
async function insert(
  postgres: Postgres,
  owner: Tenant,
  rows: readonly object[],
): Promise<string[]> {
  const inserted = await postgres.query<{ readonly identity: string }>(
    `INSERT INTO ingest_receipts AS r
       (workspace, environment, identity, body_hash, answer, expires_at)
     SELECT $1, $2, identity, decode(hash, 'hex'), coalesce(answer, 'null'),
       CASE WHEN identity LIKE 'event:%' THEN NULL
       ELSE now() + $4::int * interval '1 millisecond' END
     FROM json_to_recordset($3::json) AS given (identity text, hash text, answer json)
     ORDER BY identity
     ON CONFLICT (workspace, environment, identity) DO UPDATE
       SET body_hash = excluded.body_hash, answer = excluded.answer, durable = false,
         expires_at = excluded.expires_at
       WHERE r.expires_at <= now()
     RETURNING r.identity`,
    [owner.workspace, owner.environment, JSON.stringify(rows), limits.idempotencyKeyTtlMs],
  );
  return inserted.map(({ identity }) => identity);
}

async function purge(postgres: Postgres): Promise<void> {
  await postgres.query(
    `DELETE FROM ingest_receipts WHERE (workspace, environment, identity) IN (
       SELECT workspace, environment, identity FROM ingest_receipts
       WHERE expires_at <= now() LIMIT $1)`,
    [purgeRowsMax],
  );
}

interface Mark {
  readonly owner: Tenant;
  readonly identity: string;
}

/** Marks wait here while earlier ones are written. */
class Marks {
  #waiting: Mark[] = [];
  #writing: Promise<void> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly logger: Logger,
  ) {}

  async add(owner: Tenant, identities: readonly string[]): Promise<void> {
    if (identities.length === 0) return;
    for (const identity of identities) this.#waiting.push({ owner, identity });
    this.#writing ??= this.#write();
    if (this.#waiting.length > marksWaitingMax) await this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const marks = this.#waiting.splice(0, rowsAtOnceMax);
      try {
        await this.postgres.query(markSql, [
          marks.map(({ owner }) => owner.workspace),
          marks.map(({ owner }) => owner.environment),
          marks.map(({ identity }) => identity),
          limits.idempotencyKeyTtlMs,
        ]);
      } catch (error) {
        // Not marked is safe: a repeat appends again, and booking ignores it.
        this.logger.warn({ err: error, marks: marks.length }, "receipts not marked durable");
      }
      await letOthersRun();
    }
    this.#writing = undefined;
  }
}

const markSql = `
UPDATE ingest_receipts r SET durable = true,
  expires_at = CASE WHEN r.identity LIKE 'event:%' THEN NULL
  ELSE now() + $4::int * interval '1 millisecond' END
FROM unnest($1::text[], $2::text[], $3::text[]) AS t (workspace, environment, identity)
WHERE r.workspace = t.workspace AND r.environment = t.environment AND r.identity = t.identity`;
