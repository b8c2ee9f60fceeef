/** The ids that name the schemas of messages on the public topics, kept in Postgres for ever. */
import { type PublicTopic, publicTopics } from "../../../schemas/records/public-topics.js";
import { ExpiringCache } from "../../../runtime/expiring-cache.js";
import type { Postgres, Sql } from "../../postgres/postgres.js";
import { SchemaRegistryRefused } from "./schema-registry.js";

/** How often an unknown schema id may lead to a question to Postgres. */
const schemaIdsAskedMs = 1_000;

export interface PublicSchema {
  readonly topic: PublicTopic;
  readonly version: number;
  readonly id: number;
  /** Avro's JSON, as it was released. */
  readonly text: string;
}

export interface KeptSchema extends PublicSchema {
  /** Who assigned the id: the URL of a registry, or `ownIds`. */
  readonly registry: string;
}

export const ownIds = "";

export class SchemaIds {
  // Anybody may ask for any id, which must not become a question to Postgres each time.
  readonly #rows = new ExpiringCache<readonly KeptSchema[]>({
    ttlMs: schemaIdsAskedMs,
    entriesMax: 1,
    load: () => this.#read(),
  });

  constructor(private readonly postgres: Postgres) {}

  /** All of them, oldest first, possibly a moment old; `now`: up to date. */
  all(now = false): Promise<readonly KeptSchema[]> {
    if (now) this.#rows.clear();
    return this.#rows.get("all");
  }

  /** @throws SchemaRegistryRefused when an id stands for another schema of the same topic */
  async keep(schemas: readonly PublicSchema[], registry: string): Promise<void> {
    await this.postgres.transaction(async (sql) => {
      for (const schema of schemas) await keepOne(sql, schema, registry);
    });
    this.#rows.clear();
  }

  #read(): Promise<readonly KeptSchema[]> {
    return this.postgres.query<KeptSchema>(
      `SELECT topic, id, registry, version, schema AS text FROM schema_ids
       WHERE topic = ANY ($1::text[]) ORDER BY recorded_at`,
      [publicTopics],
    );
  }
}

/**
 * Two registries count independently. If one id stood for two schemas of a topic, existing messages
 * could not be read any more.
 */
async function keepOne(
  sql: Sql,
  { topic, id, version, text }: PublicSchema,
  registry: string,
): Promise<void> {
  const [other] = await sql.query<Pick<KeptSchema, "registry" | "version">>(
    "SELECT registry, version FROM schema_ids WHERE topic = $1 AND id = $2 AND schema <> $3",
    [topic, id, text],
  );
  if (other !== undefined) {
    throw new SchemaRegistryRefused(
      `it gives ${topic} version ${version} the id ${id}, by which messages name version ` +
        `${other.version} since ${other.registry} gave it. Import the schemas with their ids ` +
        "(docs/topics.md, Changing the registry)",
    );
  }
  await sql.query(
    `INSERT INTO schema_ids (topic, id, registry, version, schema) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [topic, id, registry, version, text],
  );
}
