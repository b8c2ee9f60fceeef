/** One operation of the HTTP interface, for the OpenAPI document. */
import type { z } from "zod";

export interface Operation {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  readonly tag: "Metrics" | "Lists" | "Stream" | "Ingest" | "Management" | "Sign-in" | "Schemas";
  readonly summary: string;
  readonly description?: string | undefined;
  /** Null: the URL alone decides. */
  readonly security: "key" | "administrator" | "session" | null;
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType;
  readonly bodyTypes?: readonly string[];
  readonly status: number;
  readonly answer: z.ZodType;
  /** Of the answer and of errors; default: JSON. */
  readonly mediaType?: string;
  /** Another possible answer to a correct call. */
  readonly otherwise?: {
    readonly status: number;
    readonly mediaType: string;
    readonly description: string;
    readonly answer: z.ZodType;
  };
  /** Also available as a table, by `format` or `Accept`. */
  readonly exports?: true;
  /** Statuses of errors beside those every call may meet. */
  readonly errors: readonly number[];
  /** The shape of errors, where it differs from the usual one. */
  readonly errorAnswer?: z.ZodType;
}
