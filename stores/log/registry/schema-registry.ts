/**
 * A client of a schema registry with Confluent's interface (Confluent Schema Registry, Karapace,
 * Apicurio's `/apis/ccompat/v7`), for writing; consumers read by themselves.
 */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { compatibility, registryMediaType } from "../../../schemas/http/registry.js";
import { withDeadline } from "../../../runtime/deadline.js";
import type { Logger } from "../../../runtime/logger.js";

/** The registry refused, and would again; the message says what to do. */
export class SchemaRegistryRefused extends Error {
  override readonly name = "SchemaRegistryRefused";
  constructor(problem: string) {
    super(`SCHEMA_REGISTRY_URL: ${problem}`);
  }
}

/** It could not be reached, or failed itself. */
export class SchemaRegistryUnavailable extends Error {
  override readonly name = "SchemaRegistryUnavailable";
  constructor(problem: string, cause: unknown) {
    super(`SCHEMA_REGISTRY_URL: ${problem}`, { cause });
  }
}

const registered = z.object({ id: z.int() });
const level = z.object({ compatibilityLevel: z.string() });
const problem = z.object({ error_code: z.int().optional(), message: z.string().optional() });

export class Registry {
  readonly name: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param url may hold `user:password@`, sent as basic authentication */
  constructor(
    url: string,
    private readonly logger: Logger,
    private readonly patience: Patience = patienceOfLimits,
  ) {
    const parsed = new URL(url);
    const pair = [parsed.username, parsed.password].map(decodeURIComponent).join(":");
    parsed.username = "";
    parsed.password = "";
    this.name = parsed.href.replace(/\/+$/, "");
    this.#headers = {
      Accept: `${registryMediaType}, application/json`,
      "Content-Type": registryMediaType,
      ...(pair === ":" ? {} : { Authorization: `Basic ${Buffer.from(pair).toString("base64")}` }),
    };
  }

  /**
   * The id of a schema, registered if it is not yet: a read-only account is enough once somebody
   * registered it.
   * @param patiently false: one try, because there is another way
   * @throws SchemaRegistryRefused, SchemaRegistryUnavailable
   */
  async register(subject: string, schema: string, patiently: boolean): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const known = await this.#call("POST", path, { schema }, patiently);
    if (known.status === 200) return this.#read(registered, known).id;
    if (known.status !== 404) throw this.#refusal(`about ${subject}`, known);
    const made = await this.#call("POST", `${path}/versions`, { schema }, patiently);
    if (made.status !== 200) throw this.#refusal(`to a schema of ${subject}`, made);
    return this.#read(registered, made).id;
  }

  /** @throws SchemaRegistryRefused, SchemaRegistryUnavailable */
  async check(): Promise<void> {
    const answer = await this.#call("GET", "/subjects", null, false);
    if (answer.status !== 200) throw this.#refusal("to the list of subjects", answer);
    this.#read(z.array(z.string()), answer);
  }

  /** The registry refuses from now on what not every version can read. */
  async demandCompatibility(subject: string): Promise<void> {
    const path = `/config/${encodeURIComponent(subject)}`;
    const now = await this.#call("GET", path, null, false);
    if (now.status === 200 && this.#read(level, now).compatibilityLevel === compatibility) return;
    const set = await this.#call("PUT", path, { compatibility }, false);
    if (set.status === 200) return;
    // Ours are compatible in any case: test/log/public-schemas.test.ts.
    this.logger.warn(
      { registry: this.name, subject, status: set.status, answer: shown(set.text) },
      `the schema registry did not take ${compatibility} for the subject`,
    );
  }

  async #call(
    method: "GET" | "POST" | "PUT",
    path: string,
    body: object | null,
    patiently: boolean,
  ): Promise<Answer> {
    const attempts = patiently ? this.patience.attemptsMax : 1;
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#callOnce(method, path, body);
        if (answer.status < 500 && answer.status !== 429) return answer;
        throw new Error(`it answered ${answer.status}: ${shown(answer.text)}`);
      } catch (error) {
        if (attempt >= attempts) {
          throw new SchemaRegistryUnavailable(
            `${this.name} cannot be reached (${attempts} tries): ${reasonOf(error)}`,
            error,
          );
        }
        this.logger.warn({ registry: this.name, reason: reasonOf(error) }, "trying again");
        await pause(this.patience.pauseMs * 2 ** (attempt - 1));
      }
    }
  }

  #callOnce(method: string, path: string, body: object | null): Promise<Answer> {
    return withDeadline(this.patience.answerMsMax, never, async (signal) => {
      const response = await fetch(this.name + path, {
        method,
        headers: this.#headers,
        signal,
        ...(body === null ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    });
  }

  #read<T>(shape: z.ZodType<T>, { text }: Answer): T {
    const read = shape.safeParse(parsedOrNull(text));
    if (read.success) return read.data;
    throw new SchemaRegistryRefused(
      `${this.name} is no schema registry; it answered: ${shown(text)}`,
    );
  }

  #refusal(what: string, { status, text }: Answer): SchemaRegistryRefused {
    const reported = problem.safeParse(parsedOrNull(text));
    const code = reported.success ? (reported.data.error_code ?? status) : status;
    const message = reported.success ? (reported.data.message ?? shown(text)) : shown(text);
    return new SchemaRegistryRefused(`${this.name} said no ${what} (${code}): ${message}`);
  }
}

interface Patience {
  readonly attemptsMax: number;
  /** Before the second try, doubling before each further one. */
  readonly pauseMs: number;
  readonly answerMsMax: number;
}

const patienceOfLimits: Patience = {
  attemptsMax: 6,
  pauseMs: 1_000,
  answerMsMax: 10_000,
};

interface Answer {
  readonly status: number;
  readonly text: string;
}

const never = new AbortController().signal;

/** The part of an answer shown to a person: it may be a proxy's whole page. */
function shown(text: string): string {
  return text.slice(0, 500);
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `fetch` hides why a connection failed in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
