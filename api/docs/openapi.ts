/**
 * The OpenAPI 3.1 document, made from the zod schemas that check the interface. It is committed as
 * schemas/openapi.json; test/api/openapi.test.ts checks that it is current.
 */
import { z } from "zod";
import { limits } from "../../config.js";
import { needs } from "../../http/auth.js";
import { version } from "../../runtime/version.js";
import { errorAnswer } from "../../schemas/http/errors.js";
import { formats } from "../exports/formats.js";
import { operations } from "./operations.js";
import type { Operation } from "../route.js";
import { sentEvents } from "../webhooks/schema.js";

type JsonSchema = Readonly<Record<string, unknown>>;

interface OpenApiParameter {
  readonly name: string;
  readonly in: "query" | "path" | "header";
  readonly required: boolean;
  readonly description?: unknown;
  readonly schema: JsonSchema;
}

type Components = Record<string, JsonSchema>;
type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

export function openApiDocument() {
  const schemas: Components = {};
  const paths: Record<string, Record<string, ReturnType<typeof describe>>> = {};
  for (const operation of operations) {
    // The document calls it so since its first version.
    const path = (paths[operation.path.replace("{workspace}", "{id}")] ??= {});
    path[operation.method] = describe(operation, schemas);
  }
  const webhooks = webhooksOf(schemas);
  return {
    openapi: "3.1.0",
    info: {
      title: "Revenue aggregation service",
      version,
      description:
        "Payment events of several billing providers, normalized to one reporting currency. " +
        "All times are UTC; amounts are in major units, rounded to the currency's minor unit.",
    },
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "`svc_live_…` or `svc_test_…`" },
        administrator: { type: "http", scheme: "bearer", description: "ADMIN_TOKEN" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-session",
          description: "Of the dashboard; `session` on loopback. Writes need its own Origin",
        },
      },
    },
  };
}

/** What is sent to endpoints, by the types of docs/webhooks.md. */
function webhooksOf(components: Components) {
  return Object.fromEntries(
    Object.entries(sentEvents).map(([type, message]) => {
      const requestBody = { content: content([json], message, "output", components) };
      const responses = { "2XX": { description: "Taken; with anything else it is sent again." } };
      return [type, { post: { requestBody, responses } }];
    }),
  );
}

/** A session may do what its member's role allows, but not ingest. */
function securityOf({ right }: Operation): Record<string, string[]>[] {
  if (right === null) return [];
  const { bearer, session } = needs[right];
  const token = bearer === "ingest key" ? "key" : bearer;
  return [
    ...(token === "nobody" ? [] : [{ [token]: [] }]),
    ...(session === "nobody" ? [] : [{ session: [] }]),
  ];
}

function describe(operation: Operation, components: Components) {
  const { tag, summary, description, body, bodyTypes = [json] } = operation;
  return {
    tags: [tag],
    summary,
    description,
    security: securityOf(operation),
    parameters: parametersOf(operation, components),
    requestBody: body && {
      required: true,
      content: content(bodyTypes, body, "input", components),
    },
    responses: responsesOf(operation, components),
  };
}

interface OpenApiResponse {
  readonly description: string;
  readonly headers?: JsonSchema | undefined;
  readonly content: Content;
}

function responsesOf(operation: Operation, components: Components) {
  const { status, answer, mediaType = json, exports, otherwise } = operation;
  const responses: Record<string, OpenApiResponse> = {
    [status]: {
      description: answerNames[status] ?? "Done.",
      headers: exports && exportHeaders,
      content: {
        ...content([mediaType], answer, "output", components),
        ...(exports ? exportContent() : {}),
      },
    },
  };
  if (otherwise !== undefined) {
    responses[otherwise.status] = {
      description: otherwise.description,
      content: content([otherwise.mediaType], otherwise.answer, "output", components),
    };
  }
  for (const error of errorsOf(operation)) {
    responses[error] = errorOf(error, operation, components);
  }
  return responses;
}

const json = "application/json";

const exportHeaders = {
  "X-Total-Count": {
    description: "Rows of an export (docs/exports.md); JSON has its pages.",
    schema: { type: "integer" },
  },
};

function exportContent(): Content {
  return Object.fromEntries(
    formats.map(({ mediaType, description }) => [
      mediaType,
      { schema: { type: "string", description } },
    ]),
  );
}

function errorsOf({ errors, right, exports }: Operation): number[] {
  const keyed = right === null ? [] : [400, 401, 403, 429, 503];
  const always = exports === undefined ? keyed : [...keyed, 406];
  return [...new Set([...errors, ...always, headersTooLarge])].sort((one, other) => one - other);
}

/** Answered before a route is looked for, so on every path, and in the usual envelope. */
const headersTooLarge = 431;

const answerNames: Readonly<Record<number, string>> = {
  101: "The socket is open; its messages:",
  302: "Goes on to the URL in Location.",
};

const errorNames: Readonly<Record<number, string>> = {
  400: "Malformed.",
  401: "Nobody we know.",
  403: "Not with this key.",
  404: "There is no such thing.",
  406: "Nothing that Accept names is offered.",
  409: "The same key or event id with another body.",
  413: "Too large.",
  415: "Not this content type.",
  422: "Well-formed but wrong.",
  429: "Too often; see Retry-After.",
  431: "The headers, the path among them, are too large.",
  503: "Unavailable; nothing was accepted. See Retry-After.",
};

function errorOf(status: number, operation: Operation, components: Components) {
  const own: Partial<Operation> = status === headersTooLarge ? {} : operation;
  const { mediaType = json, errorAnswer: shape = errorAnswer } = own;
  return {
    description: errorNames[status] ?? "An error.",
    content: content([mediaType], shape, "output", components),
  };
}

function content(
  types: readonly string[],
  schema: z.ZodType,
  io: "input" | "output",
  components: Components,
): Content {
  const made = jsonSchema(schema, io, components);
  return Object.fromEntries(types.map((type) => [type, { schema: made }]));
}

function parametersOf(operation: Operation, components: Components): OpenApiParameter[] {
  const inPath = [...operation.path.replace("{workspace}", "{id}").matchAll(/\{(\w+)\}/g)].map(
    ([, name = ""]) => ({
      name,
      in: "path" as const,
      required: true,
      schema: pathSchemas[name] ?? pathSchema,
    }),
  );
  const inHeader = Object.entries(operation.headers ?? {}).map(([name, description]) => ({
    name,
    in: "header" as const,
    required: false,
    description,
    schema: { type: "string", minLength: 1, maxLength: limits.idempotencyKeyLengthMax },
  }));
  const inQuery = Object.entries(operation.query?.shape ?? {}).map(([name, schema]) => {
    const whole = z.object({ [name]: schema });
    const { description, ...rest } = jsonSchema(whole, "input", components, name);
    return { name, in: "query" as const, required: false, description, schema: rest };
  });
  const isOfWorkspace = operation.right === "read";
  return [...inPath, ...inHeader, ...inQuery, ...(isOfWorkspace ? sessionParameters : [])];
}

/** A slash would be another path. No id is longer, and Node refuses headers over 16 KiB. */
const pathSchema = { type: "string", minLength: 1, maxLength: 1_024, pattern: "^[^/]+$" };

const pathSchemas: Readonly<Record<string, JsonSchema>> = {
  version: { type: "string", pattern: "^(?:latest|-1|[1-9][0-9]{0,9})$" },
};

/** A key has its own workspace and environment, and is refused with these. */
const sessionParameters: readonly OpenApiParameter[] = [
  {
    name: "workspace",
    in: "query",
    required: false,
    description: "With a session, and only then: whose figures.",
    schema: { type: "string" },
  },
  {
    name: "environment",
    in: "query",
    required: false,
    description: "With a session, and only then.",
    schema: { type: "string", enum: ["live", "test"] },
  },
];

/** A schema with an `id` becomes a component, all others are inlined. */
function jsonSchema(
  schema: z.ZodType,
  io: "input" | "output",
  components: Components,
  property?: string,
): JsonSchema {
  const {
    $defs = {},
    $schema: _version,
    ...whole
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema: made }) => {
      // Zod checks texts that stand for numbers and dates by patterns that help no reader.
      if (made.type === "integer" || made.format !== undefined) delete made.pattern;
      delete made.id;
      // Answers may get further fields within v1.
      if (io === "output" && made.additionalProperties === false) delete made.additionalProperties;
    },
  });
  for (const [name, definition] of Object.entries($defs)) {
    components[name] = withComponentRefs(definition);
  }
  const found = property === undefined ? whole : whole.properties?.[property];
  return typeof found === "object" ? withComponentRefs(found) : {};
}

function withComponentRefs(value: object): JsonSchema {
  const text = JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/');
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null) throw new Error("a schema is an object");
  return Object.fromEntries(Object.entries(parsed));
}
