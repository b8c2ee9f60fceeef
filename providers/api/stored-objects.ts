/**
 * Objects a provider reports whole once and later only names, kept so that the events naming them
 * can be read (`providers/provider.ts`, KeptObject).
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { limits } from "../../config.js";
import { AskedTogether } from "../../runtime/batch-loader.js";
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

export type StoredObjects = ReturnType<typeof openStoredObjects>;

/** Events that are read side by side share the statements that recall objects. */
export function openStoredObjects(postgres: Postgres) {
  const recentlyKept = new LRUCache<string, true>({ max: recentMax });
  const recalled = new AskedTogether(objectsAtOnce, (named: readonly Named[]) =>
    recall(postgres, named),
  );
  return {
    /**
     * Leaves out objects with a longer id (an event that names one is rejected), and what was kept
     * before as it is, because many events report one price or customer again.
     * @returns true if something new was stored that a rejected event may be waiting for
     */
    async keep(scope: KeptScope, objects: readonly KeptObject[]): Promise<boolean> {
      let news = false;
      for (const reported of objects) {
        const { reportedAt, refers, object, merges, corrects } = reported;
        const id = reported.ownId ? ownName(scope, reported.id) : reported.id;
        const digest = digestOf(scope, reported);
        if (id.length > idLengthMax || recentlyKept.has(digest)) continue;
        const row = [...values(scope), id, reportedAt, refers, JSON.stringify(object)];
        const [changed] = await postgres.transaction((sql) =>
          sql.query(merges ? mergeSql : replaceSql, row),
        );
        recentlyKept.set(digest, true);
        news ||= changed !== undefined && !corrects;
      }
      return news;
    },
    /**
     * What is known of these ids and of what they refer to, by id: what the integration was
     * reported its own beats what is known to all.
     */
    async recall(scope: KeptScope, ids: readonly string[]): Promise<Map<string, unknown>> {
      const known = new Map<string, unknown>();
      let wanted = [...new Set(ids)];
      for (let depth = 0; depth < depthMax && wanted.length > 0; depth += 1) {
        const rows = await Promise.all(
          wanted.map((id) => recalled.ask([...values(scope), ownName(scope, id), id])),
        );
        for (const [index, id] of wanted.entries()) {
          const row = rows[index];
          if (row) known.set(id, row.object);
        }
        const refers = rows.flatMap((row) => row?.refers ?? []);
        wanted = [...new Set(refers)].filter((id) => !known.has(id));
      }
      return known;
    },
  };
}

const objectsAtOnce = 50;
const recentMax = 10_000;

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

/** Workspace, environment, provider, the id as the integration's own, the id as anybody's. */
type Named = readonly string[];

interface Row {
  readonly refers: readonly string[];
  readonly object: unknown;
}

async function recall(
  postgres: Postgres,
  named: readonly Named[],
): Promise<(one: Named, at: number) => Row | null> {
  const rows = await postgres.query<Row & { at: number }>(
    `SELECT asked.at::int AS at, kept.* FROM
       unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
       WITH ORDINALITY AS asked (workspace, environment, provider, own, id, at)
     CROSS JOIN LATERAL (
       SELECT refers, object FROM kept_objects AS kept
       WHERE kept.workspace = asked.workspace AND kept.environment = asked.environment
         AND kept.provider = asked.provider AND kept.id IN (asked.own, asked.id)
       ORDER BY kept.id = asked.own DESC LIMIT 1) AS kept`,
    Array.from({ length: 5 }, (_, column) => named.map((one) => one[column])),
  );
  const found = new Map(rows.map((row) => [row.at - 1, row]));
  return (_one, at) => found.get(at) ?? null;
}

/** Accounts of one provider in one workspace may each have a `SUMMER`. */
function ownName({ integration }: KeptScope, id: string): string {
  return `${integration ?? "api_key"} ${id}`;
}

function values({ workspace, environment, provider }: KeptScope): string[] {
  return [workspace, environment, provider];
}

function digestOf(scope: KeptScope, object: KeptObject): string {
  return hash("sha256", JSON.stringify([...values(scope), scope.integration, object]), "base64");
}
