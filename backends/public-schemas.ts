/**
 * By which schemas the messages on the public topics are written, and under which ids: our own, or
 * those of the registry at `SCHEMA_REGISTRY_URL`. Every id ever used is kept in Postgres together
 * with the schema's text, so that any process reads what any other wrote: after a registry was
 * introduced or changed, and while a newer release is writing already.
 */
import { readFileSync } from "node:fs";
import { limits } from "../config.js";
import { translator } from "../schemas/avro.js";
import {
  type PublicTopic,
  type Release,
  isPublic,
  publicTopics,
  releases,
  subjectOf,
} from "../schemas/public-topics.js";
import { topics } from "../schemas/records.js";
import type { Logger } from "./logger.js";
import type { Postgres } from "./postgres.js";
import { projectFile } from "./root.js";
import { type Registry, SchemaRegistryRefused } from "./schema-registry.js";

/** A schema under the id its messages carry. */
export interface PublicSchema {
  readonly topic: PublicTopic;
  readonly version: number;
  readonly id: number;
  /** Avro's JSON, as it was released. */
  readonly text: string;
}

interface Needs {
  readonly postgres: Postgres;
  /** Null: ids are our own. */
  readonly registry: Registry | null;
  readonly logger: Logger;
}

/** The text of a released version; the same for ever. */
export function releasedText({ topic, version }: Pick<Release, "topic" | "version">): string {
  const file = projectFile("schemas", "released", `${topic}.${version}.avsc`);
  const schema: unknown = JSON.parse(readFileSync(file, "utf8"));
  return JSON.stringify(schema);
}

export class PublicSchemas {
  readonly #own: readonly PublicSchema[];
  /** Every schema known here, by topic and id. */
  readonly #known = new Map<string, PublicSchema>();
  readonly #translators = new Map<string, Translate>();
  readonly #writing = new Map<PublicTopic, PublicSchema>();
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly needs: Needs,
    /** For tests: another release of this service, before or after this one. */
    released: readonly (Release & { readonly text?: string })[] = releases,
  ) {
    this.#own = released.map(({ topic, version, ownId, text }) => ({
      topic,
      version,
      id: ownId,
      text: text ?? releasedText({ topic, version }),
    }));
    for (const schema of this.#own) this.#known.set(keyOf(schema), schema);
  }

  /**
   * To be called before the first message is written: registers every version where there is a
   * registry, and keeps the ids where all processes find them.
   * @throws SchemaRegistryRefused when that cannot be done
   */
  async announce(): Promise<void> {
    const { registry } = this.needs;
    const schemas = registry === null ? this.#own : await this.#registered(registry);
    const source = registry?.name ?? ownIds;
    await this.needs.postgres.transaction(async (sql) => {
      for (const schema of schemas) await keep(sql, schema, source);
    });
    for (const schema of schemas) {
      this.#known.set(keyOf(schema), schema);
      if (schema.version === this.#newest(schema.topic).version) {
        this.#writing.set(schema.topic, schema);
      }
    }
  }

  /** Under what a message is written now. */
  writing(topic: PublicTopic): PublicSchema {
    const schema = this.#writing.get(topic);
    if (schema === undefined) throw new Error(`${topic} is written before it was announced`);
    return schema;
  }

  /** @returns a body as the newest schema of this release writes it; @throws for an unknown id */
  async toNewest(topic: PublicTopic, schemaId: number | null, body: Buffer): Promise<Buffer> {
    const id = schemaId ?? this.#first(topic).id;
    const key = keyOf({ topic, id });
    const translate = this.#translators.get(key) ?? (await this.#translatorOf(topic, id));
    this.#translators.set(key, translate);
    return translate(body);
  }

  /** Null when no message carries the id. */
  async find(id: number): Promise<PublicSchema | null> {
    // Anybody may ask for any id: that must not become a question to Postgres each time.
    const mayAsk = performance.now() - this.#askedAt >= limits.schemaIdsAskedMs;
    if (this.#knownUnder(id) === null && mayAsk) await this.#learn();
    return this.#knownUnder(id);
  }

  /** All versions of a topic, oldest first, under the ids that are in use now. */
  async versions(topic: PublicTopic): Promise<readonly PublicSchema[]> {
    const own = this.#own.filter((schema) => schema.topic === topic);
    const { registry } = this.needs;
    if (registry === null) return own;
    const rows = await this.#rows();
    return own.map(
      (schema) =>
        rows.findLast(
          (row) =>
            row.registry === registry.name &&
            row.topic === topic &&
            row.version === schema.version &&
            row.text === schema.text,
        ) ?? schema,
    );
  }

  async #registered(registry: Registry): Promise<readonly PublicSchema[]> {
    const kept = await Promise.all(publicTopics.map((topic) => this.versions(topic)));
    const isKept = kept.flat().every((schema) => !this.#own.includes(schema));
    try {
      const registered: PublicSchema[] = [];
      for (const schema of this.#own) {
        const id = await registry.register(subjectOf(schema.topic), schema.text, !isKept);
        registered.push({ ...schema, id });
      }
      for (const topic of publicTopics) await registry.demandCompatibility(subjectOf(topic));
      return registered;
    } catch (error) {
      if (!isKept || error instanceof SchemaRegistryRefused) throw error;
      // Registered by an earlier start: revenue need not wait for the registry.
      this.needs.logger.warn(
        { err: error, registry: registry.name },
        "the schema registry is not there; messages carry the ids it gave before",
      );
      return kept.flat();
    }
  }

  async #translatorOf(topic: PublicTopic, id: number): Promise<Translate> {
    const key = keyOf({ topic, id });
    if (!this.#known.has(key)) await this.#learn();
    const schema = this.#known.get(key);
    if (schema === undefined)
      throw new Error(`${topic} has a message of schema ${id}, not known here`);
    const newest = this.#newest(topic);
    if (schema.text === newest.text) return (body) => body;
    return translator(JSON.parse(schema.text), JSON.parse(newest.text));
  }

  #knownUnder(id: number): PublicSchema | null {
    const found = publicTopics.map((topic) => this.#known.get(keyOf({ topic, id })));
    return found.find((schema) => schema !== undefined) ?? null;
  }

  async #learn(): Promise<void> {
    for (const row of await this.#rows()) this.#known.set(keyOf(row), row);
    this.#askedAt = performance.now();
  }

  async #rows(): Promise<readonly (PublicSchema & { readonly registry: string })[]> {
    const rows = await this.needs.postgres.query<Row>(
      "SELECT topic, id, registry, version, schema FROM schema_ids ORDER BY recorded_at",
    );
    return rows.flatMap(({ topic, schema: text, ...row }) =>
      isPublicName(topic) ? [{ ...row, topic, text }] : [],
    );
  }

  #first(topic: PublicTopic): PublicSchema {
    return this.#ownOf(topic, 0);
  }

  #newest(topic: PublicTopic): PublicSchema {
    return this.#ownOf(topic, -1);
  }

  #ownOf(topic: PublicTopic, at: number): PublicSchema {
    const schema = this.#own.filter((own) => own.topic === topic).at(at);
    if (schema === undefined) throw new Error(`no schema of ${topic} is released`);
    return schema;
  }
}

type Translate = (body: Buffer) => Buffer;

interface Row {
  readonly topic: string;
  readonly id: number;
  readonly registry: string;
  readonly version: number;
  readonly schema: string;
}

const ownIds = "";

function keyOf({ topic, id }: Pick<PublicSchema, "topic" | "id">): string {
  return `${topic}\n${id}`;
}

function isPublicName(name: string): name is PublicTopic {
  return Object.values(topics).some((topic) => topic === name && isPublic(topic));
}

/**
 * An id that stands for another schema of the same topic (two registries that counted on their own)
 * would make messages that are there already unreadable: refused.
 */
async function keep(
  sql: Pick<Postgres, "query">,
  { topic, id, version, text }: PublicSchema,
  registry: string,
): Promise<void> {
  const others = await sql.query<Pick<Row, "registry" | "version">>(
    "SELECT registry, version FROM schema_ids WHERE topic = $1 AND id = $2 AND schema <> $3",
    [topic, id, text],
  );
  const [other] = others;
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
