/**
 * The read part of a schema registry (docs/topics.md), open to everybody: schemas are published in
 * this project and hold no data. Ids from before a registry was introduced or changed are known,
 * too.
 */
import type { Context } from "koa";
import { z } from "zod";
import type { PublicSchema } from "../../stores/log/registry/public-schemas.js";
import type { Service } from "../../service.js";
import {
  compatibility,
  compatibilityAnswer,
  mode,
  modeAnswer,
  referencesAnswer,
  registryErrorAnswer,
  registryErrors,
  registryMediaType,
  schemaAnswer,
  schemaSubjectsAnswer,
  schemaTextAnswer,
  schemaTypesAnswer,
  schemaVersionsAnswer,
  subjectVersionAnswer,
  subjectVersionsAnswer,
  subjectsAnswer,
} from "../../schemas/http/registry.js";
import type { Route } from "../route.js";
import { type PublicTopic, publicTopics } from "../../schemas/records/public-topics.js";

type Schemas = Service["publicSchemas"];

export const registryRoutes = [
  get("/schemas/ids/{id}", "The schema a message on a public topic names", {
    answer: schemaAnswer,
    read: async (schemas, { id }) => ({ schema: (await schemaOf(schemas, id)).text }),
  }),
  get("/schemas/ids/{id}/versions", "Which version that is", {
    answer: schemaVersionsAnswer,
    async read(schemas, { id }) {
      const { topic, version } = await schemaOf(schemas, id);
      return [{ subject: schemas.subjectOf(topic), version }];
    },
  }),
  get("/schemas/ids/{id}/subjects", "Which topic's it is", {
    answer: schemaSubjectsAnswer,
    read: async (schemas, { id }) => [schemas.subjectOf((await schemaOf(schemas, id)).topic)],
  }),
  // Consoles list all schemas by it.
  get("/schemas", "All of them", {
    answer: z.array(subjectVersionAnswer),
    async read(schemas) {
      const all = await Promise.all(publicTopics.map((topic) => schemas.versions(topic)));
      return all.flat().map((schema) => shown(schemas, schema));
    },
  }),
  get("/schemas/types", "The kinds of schemas there are", {
    answer: schemaTypesAnswer,
    read: () => ["AVRO"],
  }),
  get("/subjects", "The public topics, as consumers name them", {
    answer: subjectsAnswer,
    read: (schemas) => publicTopics.map((topic) => schemas.subjectOf(topic)),
  }),
  get("/subjects/{subject}/versions", "Every version", {
    answer: subjectVersionsAnswer,
    async read(schemas, { subject }) {
      const versions = await schemas.versions(topicOf(schemas, subject));
      return versions.map(({ version }) => version);
    },
  }),
  get("/subjects/{subject}/versions/{version}", "One version; `latest` is the newest", {
    answer: subjectVersionAnswer,
    read: async (schemas, params) => shown(schemas, await versionOf(schemas, params)),
  }),
  get("/subjects/{subject}/versions/{version}/schema", "Its schema alone", {
    answer: schemaTextAnswer,
    read: async (schemas, params) => JSON.parse((await versionOf(schemas, params)).text),
  }),
  get("/subjects/{subject}/versions/{version}/referencedby", "Schemas that are made of it: none", {
    answer: referencesAnswer,
    async read(schemas, params) {
      await versionOf(schemas, params);
      return [];
    },
  }),
  // The same for all, with a subject or without.
  get("/config", "What every version promises", {
    answer: compatibilityAnswer,
    read: () => ({ compatibilityLevel: compatibility }),
  }),
  get("/config/{subject}", "The same, of one topic", {
    answer: compatibilityAnswer,
    read(schemas, { subject }) {
      topicOf(schemas, subject);
      return { compatibilityLevel: compatibility };
    },
  }),
  get("/mode", "Schemas can be read here, not registered", {
    answer: modeAnswer,
    read: () => ({ mode }),
  }),
  get("/mode/{subject}", "The same, of one topic", {
    answer: modeAnswer,
    read(schemas, { subject }) {
      topicOf(schemas, subject);
      return { mode };
    },
  }),
];

function get(
  path: string,
  summary: string,
  {
    answer,
    read,
  }: {
    readonly answer: z.ZodType;
    readonly read: (schemas: Schemas, params: Params) => unknown;
  },
): Route<Pick<Service, "publicSchemas">> {
  return {
    method: "get",
    path,
    tag: "Schemas",
    summary,
    right: null,
    status: 200,
    answer,
    mediaType: registryMediaType,
    errors: path.includes("{version}") ? [404, 422] : path.includes("{") ? [404] : [],
    errorAnswer: registryErrorAnswer,
    handlers: ({ publicSchemas }) => [
      async (ctx) => {
        try {
          send(ctx, 200, await read(publicSchemas, ctx["params"]));
        } catch (error) {
          if (!(error instanceof RegistryError)) throw error;
          const { code, message } = error;
          // The first three digits of a code are the status of its answer.
          send(ctx, Math.trunc(code / 100), { error_code: code, message });
        }
      },
    ],
  };
}

function shown(schemas: Schemas, { topic, id, text, version }: PublicSchema) {
  return { subject: schemas.subjectOf(topic), version, id, schema: text };
}

function topicOf(schemas: Schemas, subject = ""): PublicTopic {
  const topic = publicTopics.find((one) => schemas.subjectOf(one) === subject);
  if (topic !== undefined) return topic;
  throw new RegistryError(registryErrors.subjectNotFound, `Subject '${subject}' not found.`);
}

async function schemaOf(schemas: Schemas, id = ""): Promise<PublicSchema> {
  const schema = isId.test(id) ? await schemas.find(Number(id)) : null;
  if (schema !== null) return schema;
  throw new RegistryError(registryErrors.schemaNotFound, `Schema ${id} not found.`);
}

async function versionOf(
  schemas: Schemas,
  { subject, version = "" }: Params,
): Promise<PublicSchema> {
  const versions = await schemas.versions(topicOf(schemas, subject));
  const isNewest = version === "latest" || version === "-1";
  if (!isNewest && !isId.test(version)) {
    throw new RegistryError(
      registryErrors.versionInvalid,
      `The version '${version}' is neither a number from 1 nor "latest".`,
    );
  }
  const found = isNewest ? versions.at(-1) : versions.find((one) => one.version === +version);
  if (found === undefined) {
    throw new RegistryError(registryErrors.versionNotFound, `Version ${version} not found.`);
  }
  return found;
}

type Params = Readonly<Record<string, string | undefined>>;

class RegistryError extends Error {
  override readonly name = "RegistryError";
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** A positive integer no larger than an id on the wire can be. */
const isId = /^[1-9]\d{0,9}$/;

function send(ctx: Context, status: number, body: unknown): void {
  ctx.status = status;
  ctx.type = registryMediaType;
  ctx.body = `${JSON.stringify(body)}\n`;
}
