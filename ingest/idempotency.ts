/**
 * What was promised to callers of the ingest endpoint (`definitions.md`, Idempotency): the same
 * event id, or the same Idempotency-Key, gets the same answer again.
 *
 * The order is: claim, append to the log, mark durable. A crash after the claim leaves a claim
 * that is not durable, and a repeat appends again; booking takes the repeat out. So a claim never
 * keeps an event from being taken, and a marked one is never taken twice. Marks are written behind
 * the answer, in order, many at once.
 */
import { limits } from "../config.js";
import type { Environment } from "../schemas/records/records.js";
import type { Logger } from "../runtime/logger.js";
import type { Postgres } from "../postgres/postgres.js";

/** The scope of the identities. */
interface ReceiptOwner {
  readonly workspace: string;
  readonly environment: Environment;
}

/** One event, with every identity it goes by; all of them or none are claimed. */
export interface Claim {
  /** `event:…` is kept for ever, anything else 24 h after the event is durable. */
  readonly identities: readonly string[];
  /** Of what the body means; another body under the same identity is refused. */
  readonly bodyHash: Buffer;
  /** JSON, given back for a repeat. */
  readonly answer: unknown;
}

export type Claimed =
  | { readonly outcome: "fresh" }
  /** Claimed before with the same body; not `durable`: it has to be appended again. */
  | { readonly outcome: "repeat"; readonly answer: unknown; readonly durable: boolean }
  | { readonly outcome: "conflict"; readonly identity: string };

export interface Receipts {
  /** No identity may stand in two claims. The outcomes are in order. */
  claim(owner: ReceiptOwner, claims: readonly Claim[]): Promise<Claimed[]>;
  /** What claiming would find; nothing is claimed. In order, too. */
  recall(owner: ReceiptOwner, claims: readonly Omit<Claim, "answer">[]): Promise<Claimed[]>;
  /** Resolves at once unless too many marks wait to be written. */
  markDurable(owner: ReceiptOwner, identities: readonly string[]): Promise<void>;
  /** Writes what waits; at stop. */
  close(): Promise<void>;
}

const claimTriesMax = 5;
const marksWaitingMax = 50_000;
/** Rows of one statement: the embedded Postgres works in this thread, and others wait for it. */
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
    outcomes.push(...(await ask(all.slice(from, from + rowsAtOnceMax))));
  }
  return outcomes;
}

interface ReceiptRow {
  readonly identity: string;
  readonly body_hash: Buffer;
  readonly answer: unknown;
  readonly durable: boolean;
  /** Inserted by this statement. */
  readonly fresh: boolean;
}

async function claim(
  postgres: Postgres,
  owner: ReceiptOwner,
  claims: readonly Claim[],
): Promise<Claimed[]> {
  for (let tries = 1; ; tries++) {
    const rows = new Map(
      (await postgres.query<ReceiptRow>(claimSql, claimValues(owner, claims))).map((row) => [
        row.identity,
        row,
      ]),
    );
    const outcomes = claims.map((one) => outcomeOf(one, rows));
    if (outcomes.every((outcome) => outcome !== null)) return outcomes;
    // Somebody inserted the same identity while this statement ran; the next one sees it.
    if (tries === claimTriesMax) throw new Error("identities stayed neither free nor taken");
  }
}

async function recall(
  postgres: Postgres,
  owner: ReceiptOwner,
  claims: readonly Omit<Claim, "answer">[],
): Promise<Claimed[]> {
  const found = await postgres.query<ReceiptRow>(recallSql, [
    owner.workspace,
    owner.environment,
    claims.flatMap(({ identities }) => identities),
  ]);
  const rows = new Map(found.map((row) => [row.identity, row]));
  return claims.map(({ identities, bodyHash }) => {
    const known = identities.filter((identity) => rows.has(identity));
    return outcomeOf({ identities: known, bodyHash }, rows) ?? { outcome: "fresh" };
  });
}

const recallSql = `
SELECT identity, body_hash, answer, durable, false AS fresh FROM ingest_receipts
WHERE workspace = $1 AND environment = $2 AND identity = ANY ($3::text[])
  AND (expires_at IS NULL OR expires_at > now())`;

/** Null: an identity is neither known nor ours, so another call is claiming it right now. */
function outcomeOf(
  one: Omit<Claim, "answer">,
  rows: ReadonlyMap<string, ReceiptRow>,
): Claimed | null {
  let repeated: ReceiptRow | undefined;
  let missing = false;
  for (const identity of one.identities) {
    const row = rows.get(identity);
    if (row === undefined) missing = true;
    else if (!row.body_hash.equals(one.bodyHash)) return { outcome: "conflict", identity };
    else if (!row.fresh && (repeated === undefined || row.durable)) repeated = row;
  }
  if (missing) return null;
  if (repeated === undefined) return { outcome: "fresh" };
  return { outcome: "repeat", answer: repeated.answer, durable: repeated.durable };
}

function claimValues(owner: ReceiptOwner, claims: readonly Claim[]): unknown[] {
  const rows = claims.flatMap(({ identities, bodyHash, answer }, event) =>
    identities.map((identity) => ({
      event,
      identity,
      bodyHash: bodyHash.toString("hex"),
      answer: JSON.stringify(answer),
    })),
  );
  return [
    owner.workspace,
    owner.environment,
    rows.map((row) => row.event),
    rows.map((row) => row.identity),
    rows.map((row) => row.bodyHash),
    rows.map((row) => row.answer),
    limits.idempotencyKeyTtlMs,
  ];
}

/**
 * The rows there are, and the rows this makes: of an event with a conflict none. An expired row is
 * as good as none and is taken over.
 */
const claimSql = `
WITH given AS (
  SELECT event, identity, decode(hash, 'hex') AS body_hash, answer::jsonb AS answer
  FROM unnest($3::int[], $4::text[], $5::text[], $6::text[]) AS t (event, identity, hash, answer)
), known AS (
  SELECT g.event, r.identity, r.body_hash, r.answer, r.durable, r.body_hash <> g.body_hash AS other
  FROM given g JOIN ingest_receipts r
    ON r.workspace = $1 AND r.environment = $2 AND r.identity = g.identity
  WHERE r.expires_at IS NULL OR r.expires_at > now()
), fresh AS (
  INSERT INTO ingest_receipts AS r (workspace, environment, identity, body_hash, answer, expires_at)
  SELECT $1, $2, g.identity, g.body_hash, g.answer, CASE WHEN g.identity LIKE 'event:%' THEN NULL
    ELSE now() + $7::int * interval '1 millisecond' END
  FROM given g
  WHERE NOT EXISTS (SELECT 1 FROM known k WHERE k.event = g.event AND k.other)
    AND NOT EXISTS (SELECT 1 FROM known k WHERE k.identity = g.identity)
  ORDER BY g.identity
  ON CONFLICT (workspace, environment, identity) DO UPDATE
    SET body_hash = excluded.body_hash, answer = excluded.answer, durable = false,
      expires_at = excluded.expires_at
    WHERE r.expires_at <= now()
  RETURNING r.identity, r.body_hash, r.answer, r.durable
)
SELECT identity, body_hash, answer, durable, false AS fresh FROM known
UNION ALL SELECT identity, body_hash, answer, durable, true FROM fresh`;

async function purge(postgres: Postgres): Promise<void> {
  await postgres.query(
    `DELETE FROM ingest_receipts WHERE (workspace, environment, identity) IN (
       SELECT workspace, environment, identity FROM ingest_receipts
       WHERE expires_at <= now() LIMIT $1)`,
    [purgeRowsMax],
  );
}

interface Mark {
  readonly owner: ReceiptOwner;
  readonly identity: string;
}

/** Marks wait here while the ones before them are written. */
class Marks {
  #waiting: Mark[] = [];
  #writing: Promise<void> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly logger: Logger,
  ) {}

  async add(owner: ReceiptOwner, identities: readonly string[]): Promise<void> {
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
        // Not marked is safe: a repeat appends again, and booking takes it out.
        this.logger.warn({ err: error, marks: marks.length }, "receipts not marked durable");
      }
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
