/**
 * Objects a provider reports whole once and later only names, kept so that the events naming them
 * can be read (`providers/provider.ts`, KeptObject).
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { limits } from "../../config.js";
import type { KeptObject } from "../provider.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Postgres } from "../../stores/postgres/postgres.js";

export interface KeptScope {
  readonly workspace: string;
  readonly environment: Environment;
  readonly provider: string;
  /** Null: calls with an API key. */
  readonly integration: string | null;
}

/** Objects naming objects naming objects: no provider goes deeper than two. */
const depthMax = 3;

/** An index of Postgres holds no text of thousands of bytes; no provider's ids are that long. */
const idLengthMax = 500;

/**
 * An object with a longer id is left out, and an event that names it is rejected.
 * @returns true if something new was stored that a rejected event may be waiting for
 */
export async function keepObjects(
  postgres: Postgres,
  scope: KeptScope,
  objects: readonly KeptObject[],
): Promise<boolean> {
  let news = false;
  for (const { id: reported, ownId, reportedAt, refers, object, merges, corrects } of objects) {
    const id = ownId ? ownName(scope, reported) : reported;
    if (id.length > idLengthMax) continue;
    const row = [...values(scope), id, reportedAt, refers, JSON.stringify(object)];
    const [changed] = await postgres.transaction((sql) =>
      sql.query(merges ? mergeSql : replaceSql, row),
    );
    news ||= changed !== undefined && !corrects;
  }
  return news;
}

const insertSql = `INSERT INTO kept_objects AS k
    (workspace, environment, provider, id, reported_at, refers, object)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (workspace, environment, provider, id) DO UPDATE`;

const replaceSql = `${insertSql}
  SET reported_at = excluded.reported_at, refers = excluded.refers, object = excluded.object
  WHERE k.reported_at < excluded.reported_at
  RETURNING id`;

/** What was reported first stays, and so does what fits. */
const mergeSql = `${insertSql}
  SET object = excluded.object || k.object
  WHERE k.object <> excluded.object || k.object
    AND (SELECT count(*) FROM jsonb_object_keys(k.object)) < ${limits.mergedFieldsMax}
  RETURNING id`;

/**
 * What is known of these ids and of what they refer to, by id: what the integration was reported
 * its own beats what is known to all.
 */
export async function recallObjects(
  postgres: Postgres,
  scope: KeptScope,
  ids: readonly string[],
): Promise<Map<string, unknown>> {
  const known = new Map<string, unknown>();
  let wanted = [...new Set(ids)];
  for (let depth = 0; depth < depthMax && wanted.length > 0; depth += 1) {
    const rows = await postgres.query<{ id: string; refers: string[]; object: unknown }>(
      `SELECT id, refers, object FROM kept_objects
       WHERE workspace = $1 AND environment = $2 AND provider = $3 AND id = ANY($4::text[])`,
      [...values(scope), wanted.flatMap((id) => [id, ownName(scope, id)])],
    );
    const found = new Map(rows.map(({ id, object }) => [id, object]));
    for (const id of wanted) {
      const object = found.get(ownName(scope, id)) ?? found.get(id);
      if (object !== undefined) known.set(id, object);
    }
    wanted = [...new Set(rows.flatMap(({ refers }) => refers))].filter((id) => !known.has(id));
  }
  return known;
}

/** Accounts of one provider in one workspace may each have a `SUMMER`. */
function ownName({ integration }: KeptScope, id: string): string {
  return `${integration ?? "api_key"} ${id}`;
}

function values({ workspace, environment, provider }: KeptScope): string[] {
  return [workspace, environment, provider];
}

/**
 * Objects that were kept as they are: many events report one price or customer again, and to keep
 * the same report twice changes nothing.
 */
export class RecentlyKept {
  readonly #kept = new LRUCache<string, true>({ max: recentMax });

  has(scope: KeptScope, object: KeptObject): boolean {
    return this.#kept.has(digestOf(scope, object));
  }

  add(scope: KeptScope, object: KeptObject): void {
    this.#kept.set(digestOf(scope, object), true);
  }
}

const recentMax = 10_000;

function digestOf(scope: KeptScope, object: KeptObject): string {
  return hash("sha256", JSON.stringify([...values(scope), scope.integration, object]), "base64");
}
