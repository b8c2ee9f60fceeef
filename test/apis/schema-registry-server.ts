/**
 * A small schema registry over HTTP, by Confluent's API reference: what this service asks of one.
 * Ids count up over all subjects, from where a test says.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveHttp } from "../harness/loopback.js";

export interface RegistryServer {
  readonly url: string;
  /** Method and path, as they came. */
  readonly calls: string[];
  /** Schemas by subject, with their ids. */
  readonly subjects: Map<string, { readonly id: number; readonly schema: string }[]>;
  readonly levels: Map<string, string>;
  /** `user:password`; null: it asks for none. */
  credentials: string | null;
  /** Answers instead, while it returns true. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

export async function openRegistryServer(firstId: number): Promise<RegistryServer> {
  let nextId = firstId;
  const url = await serveHttp("schema registry", (request, response) => {
    registry.calls.push(`${request.method} ${request.url}`);
    if (registry.misbehave?.(request, response) === true) return;
    const { credentials } = registry;
    const basic = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
    if (basic !== null && request.headers.authorization !== basic) {
      return send(response, 401, { error_code: 401, message: "Unauthorized" });
    }
    void answer(request, response);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, kind, subject = "", versions] = (request.url ?? "").split("/").map(decodeURIComponent);
    const body: { schema?: string; compatibility?: string } =
      request.method === "GET" ? {} : JSON.parse(await text(request));
    if (kind === "config") return configure(response, request.method, subject, body.compatibility);
    const { schema = "" } = body;
    const schemas = registry.subjects.get(subject) ?? [];
    const known = schemas.find((one) => one.schema === schema);
    if (known !== undefined) return send(response, 200, { subject, ...known });
    if (versions === undefined) {
      const code = schemas.length === 0 ? 40401 : 40403;
      return send(response, 404, { error_code: code, message: "not found" });
    }
    const made = { id: nextId++, schema };
    registry.subjects.set(subject, [...schemas, made]);
    send(response, 200, { id: made.id });
  }

  function configure(
    response: ServerResponse,
    method: string | undefined,
    subject: string,
    level: string | undefined,
  ): void {
    if (method === "PUT" && level !== undefined) {
      registry.levels.set(subject, level);
      return send(response, 200, { compatibility: level });
    }
    const compatibilityLevel = registry.levels.get(subject);
    if (compatibilityLevel !== undefined) return send(response, 200, { compatibilityLevel });
    send(response, 404, { error_code: 40408, message: "no level of its own" });
  }

  const registry: RegistryServer = {
    url,
    calls: [],
    subjects: new Map(),
    levels: new Map(),
    credentials: null,
    misbehave: null,
  };
  return registry;
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/vnd.schemaregistry.v1+json" });
  response.end(JSON.stringify(body));
}
