/** One operation of the HTTP interface, as the OpenAPI document describes it. */
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
  /** Of the answer and of errors; left out: JSON. */
  readonly mediaType?: string;
  /** What else a call that is right may be answered. */
  readonly otherwise?: {
    readonly status: number;
    readonly mediaType: string;
    readonly description: string;
    readonly answer: z.ZodType;
  };
  /** The same is answered as a table, too, when `format` or `Accept` says so. */
  readonly exports?: true;
  /** Statuses of errors beside those every call may meet. */
  readonly errors: readonly number[];
  /** The shape of errors, where it is not the one of all others. */
  readonly errorAnswer?: z.ZodType;
}
