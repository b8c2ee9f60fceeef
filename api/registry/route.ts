/**
 * The read part of a schema registry (docs/topics.md), open to everybody: schemas are published in
 * this project and hold no data. Ids from before a registry was introduced or changed are known,
 * too.
 */
import type Router from "@koa/router";
import type { Context } from "koa";
import type { PublicSchema } from "../../stores/log/registry/schema-ids.js";
import type { Service } from "../../service.js";
import {
  compatibility,
  mode,
  registryErrors,
  registryMediaType,
} from "../../schemas/http/registry.js";
import { type PublicTopic, publicTopics } from "../../schemas/records/public-topics.js";

export function registryRoutes(
  router: Router,
  { publicSchemas }: Pick<Service, "publicSchemas">,
): void {
  const get = (path: string, answer: (params: Params) => unknown): void => {
    router.get(path, async (ctx) => {
      try {
        send(ctx, 200, await answer(ctx.params));
      } catch (error) {
        if (!(error instanceof RegistryError)) throw error;
        const { code, message } = error;
        // The first three digits of a code are the status of its answer.
        send(ctx, Math.trunc(code / 100), { error_code: code, message });
      }
    });
  };

  get("/schemas/types", () => ["AVRO"]);
  get("/schemas/ids/:id", async ({ id }) => ({ schema: (await schemaOf(id)).text }));
  get("/schemas/ids/:id/versions", async ({ id }) => {
    const { topic, version } = await schemaOf(id);
    return [{ subject: publicSchemas.subjectOf(topic), version }];
  });
  get("/schemas/ids/:id/subjects", async ({ id }) => [
    publicSchemas.subjectOf((await schemaOf(id)).topic),
  ]);
  // Consoles list all schemas by it.
  get("/schemas", async () => {
    const all = await Promise.all(publicTopics.map((topic) => publicSchemas.versions(topic)));
    return all.flat().map(shown);
  });
  get("/subjects", () => publicTopics.map((topic) => publicSchemas.subjectOf(topic)));
  get("/subjects/:subject/versions", async ({ subject }) =>
    (await publicSchemas.versions(topicOf(subject))).map(({ version }) => version),
  );
  get("/subjects/:subject/versions/:version", async ({ subject, version }) =>
    shown(await versionOf(subject, version)),
  );
  get("/subjects/:subject/versions/:version/schema", async ({ subject, version }) =>
    JSON.parse((await versionOf(subject, version)).text),
  );
  get("/subjects/:subject/versions/:version/referencedby", async ({ subject, version }) => {
    await versionOf(subject, version);
    return [];
  });
  // The same for all, with a subject or without.
  get("/config", () => ({ compatibilityLevel: compatibility }));
  get("/config/:subject", ({ subject }) => {
    topicOf(subject);
    return { compatibilityLevel: compatibility };
  });
  get("/mode", () => ({ mode }));
  get("/mode/:subject", ({ subject }) => {
    topicOf(subject);
    return { mode };
  });

  function shown({ topic, id, text, version }: PublicSchema) {
    return { subject: publicSchemas.subjectOf(topic), version, id, schema: text };
  }

  function topicOf(subject = ""): PublicTopic {
    const topic = publicTopics.find((one) => publicSchemas.subjectOf(one) === subject);
    if (topic !== undefined) return topic;
    throw new RegistryError(registryErrors.subjectNotFound, `Subject '${subject}' not found.`);
  }

  async function schemaOf(id = ""): Promise<PublicSchema> {
    const schema = isId.test(id) ? await publicSchemas.find(Number(id)) : null;
    if (schema === null) {
      throw new RegistryError(registryErrors.schemaNotFound, `Schema ${id} not found.`);
    }
    return schema;
  }

  async function versionOf(subject: string | undefined, version = ""): Promise<PublicSchema> {
    const versions = await publicSchemas.versions(topicOf(subject));
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
