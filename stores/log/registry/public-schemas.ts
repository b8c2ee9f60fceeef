/**
 * The schemas of messages on the public topics, and their ids: our own, or those of the registry at
 * `SCHEMA_REGISTRY_URL`. Every id ever used is kept with the schema's text, so that any process
 * reads what any other wrote, also after the registry changed, and while a newer release already
 * writes.
 */
import { readFileSync } from "node:fs";
import { translator } from "../../../schemas/records/avro.js";
import {
  type PublicTopic,
  type Release,
  publicTopics,
  releases,
  subjectOf,
  isPublic,
  readMessage,
  writeMessage,
} from "../../../schemas/records/public-topics.js";
import type { Logger } from "../../../runtime/logger.js";
import type { Postgres, Sql } from "../../postgres/postgres.js";
import { projectFile } from "../../../runtime/project-root.js";
import { type Registry, SchemaRegistryRefused } from "./schema-registry.js";
import type { Topic } from "../../../schemas/records/records.js";
import type { Log, LogRecord, NewRecord } from "../log.js";
import { ExpiringCache } from "../../../runtime/expiring-cache.js";

interface Needs {
  readonly postgres: Postgres;
  /** Null: ids are our own. */
  readonly registry: Registry | null;
  /** `KAFKA_TOPIC_PREFIX`, or nothing. */
  readonly topicPrefix: string;
  readonly logger: Logger;
}

/** The text of a released version, which never changes. */
export function releasedText({ topic, version }: Pick<Release, "topic" | "version">): string {
  const file = projectFile("schemas", "released", `${topic}.${version}.avsc`);
  const schema: unknown = JSON.parse(readFileSync(file, "utf8"));
  return JSON.stringify(schema);
}

export class PublicSchemas {
  /** All versions of this release, under our own ids. */
  readonly #own: readonly PublicSchema[];
  readonly #ids: SchemaIds;
  readonly #writing = new Map<PublicTopic, PublicSchema>();
  readonly #translators = new Map<string, Translate>();

  constructor(
    private readonly needs: Needs,
    /** For tests: the versions of another release. */
    released: readonly (Release & { readonly text?: string })[] = releases,
  ) {
    this.#ids = new SchemaIds(needs.postgres);
    this.#own = released.map(({ topic, version, ownId, text }) => ({
      topic,
      version,
      id: ownId,
      text: text ?? releasedText({ topic, version }),
    }));
  }

  /**
   * To be called before the first message is written: registers every version if there is a
   * registry, and stores the ids for all processes.
   * @throws SchemaRegistryRefused, SchemaRegistryUnavailable, for a person
   */
  async announce(): Promise<void> {
    const { registry } = this.needs;
    const schemas = registry === null ? this.#own : await this.#registered(registry);
    await this.#ids.keep(schemas, registry?.name ?? ownIds);
    for (const schema of schemas) {
      if (schema.version === this.#newest(schema.topic).version) {
        this.#writing.set(schema.topic, schema);
      }
    }
  }

  subjectOf(topic: PublicTopic): string {
    return subjectOf(topic, this.needs.topicPrefix);
  }

  /** The schema by which messages are written now. */
  writing(topic: PublicTopic): PublicSchema {
    const schema = this.#writing.get(topic);
    if (schema === undefined) throw new Error(`${topic} is written before it was announced`);
    return schema;
  }

  /**
   * @returns the body as the newest schema of this release writes it
   * @throws for an id nobody announced
   */
  async toNewest(topic: PublicTopic, schemaId: number, body: Buffer): Promise<Buffer> {
    const key = `${topic}\n${schemaId}`;
    const translate = this.#translators.get(key) ?? (await this.#translatorFor(topic, schemaId));
    this.#translators.set(key, translate);
    return translate(body);
  }

  /** Null when no message carries the id. */
  async find(id: number): Promise<PublicSchema | null> {
    const isIt = (schema: PublicSchema) => schema.id === id;
    return this.#own.find(isIt) ?? (await this.#ids.all()).find(isIt) ?? null;
  }

  /** All versions of a topic, oldest first, under the ids now in use. */
  async versions(topic: PublicTopic): Promise<readonly PublicSchema[]> {
    const own = this.#own.filter((schema) => schema.topic === topic);
    const { registry } = this.needs;
    if (registry === null) return own;
    const kept = (await this.#ids.all()).filter((row) => row.registry === registry.name);
    return own.map(
      (schema) => kept.findLast((row) => row.topic === topic && row.text === schema.text) ?? schema,
    );
  }

  async #registered(registry: Registry): Promise<readonly PublicSchema[]> {
    const kept = (await Promise.all(publicTopics.map((topic) => this.versions(topic)))).flat();
    const isKept = kept.every((schema) => !this.#own.includes(schema));
    try {
      const registered: PublicSchema[] = [];
      for (const schema of this.#own) {
        const id = await registry.register(this.subjectOf(schema.topic), schema.text, !isKept);
        registered.push({ ...schema, id });
      }
      for (const topic of publicTopics) await registry.demandCompatibility(this.subjectOf(topic));
      return registered;
    } catch (error) {
      if (!isKept || error instanceof SchemaRegistryRefused) throw error;
      // An earlier start registered them, so revenue need not wait for the registry.
      this.needs.logger.warn(
        { err: error, registry: registry.name },
        "the schema registry is unavailable; messages carry its earlier ids",
      );
      return kept;
    }
  }

  async #translatorFor(topic: PublicTopic, schemaId: number): Promise<Translate> {
    const isIt = (schema: PublicSchema) => schema.topic === topic && schema.id === schemaId;
    const writer = this.#own.find(isIt) ?? (await this.#ids.all(true)).find(isIt);
    if (writer === undefined) {
      throw new Error(`${topic} has a message of schema ${schemaId}, which nobody announced`);
    }
    const { text } = this.#newest(topic);
    if (writer.text === text) return (body) => body;
    return translator(JSON.parse(writer.text), JSON.parse(text));
  }

  #newest(topic: PublicTopic): PublicSchema {
    const schema = this.#own.findLast((own) => own.topic === topic);
    if (schema === undefined) throw new Error(`no schema of ${topic} is released`);
    return schema;
  }
}

type Translate = (body: Buffer) => Buffer;

/**
 * A log whose public topics are in the Confluent wire format. Callers append and read bodies of the
 * newest schema; on the topic each message names the schema it was written by.
 */
export function withWireFormat(log: Log, schemas: PublicSchemas): Log {
  return {
    ...log,
    append: async (topic, records) => log.append(topic, messagesOf(topic, records)),
    consume: (options) => {
      if (!isPublic(options.topic)) return log.consume(options);
      return log.consume({
        ...options,
        handle: async (records) => options.handle(await Promise.all(records.map(bodyOf))),
      });
    },
    tail: (topic, handle, from) => {
      if (!isPublic(topic)) return log.tail(topic, handle, from);
      return log.tail(topic, async (record) => handle(await bodyOf(record)), from);
    },
    read: async (topic, partition, offset, recordsMax) => {
      const records = await log.read(topic, partition, offset, recordsMax);
      return isPublic(topic) ? Promise.all(records.map(bodyOf)) : records;
    },
    place: async (topic, partition, offset, records) =>
      log.place(topic, partition, offset, messagesOf(topic, records)),
  };

  function messagesOf(topic: Topic, records: readonly NewRecord[]): readonly NewRecord[] {
    if (!isPublic(topic)) return records;
    const { id } = schemas.writing(topic);
    return records.map((record) => ({ ...record, value: writeMessage(id, record.value) }));
  }

  async function bodyOf(record: LogRecord): Promise<LogRecord> {
    const { topic } = record;
    if (!isPublic(topic)) return record;
    const { schemaId, body } = readMessage(record.value);
    return { ...record, value: await schemas.toNewest(topic, schemaId, body) };
  }
}

/** How often an unknown schema id may lead to a question to Postgres. */
const schemaIdsAskedMs = 1_000;

export interface PublicSchema {
  readonly topic: PublicTopic;
  readonly version: number;
  readonly id: number;
  /** Avro's JSON, as it was released. */
  readonly text: string;
}

interface KeptSchema extends PublicSchema {
  /** Who assigned the id: the URL of a registry, or `ownIds`. */
  readonly registry: string;
}

const ownIds = "";

/** The ids that name the schemas of messages on the public topics, kept in Postgres for ever. */
class SchemaIds {
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
