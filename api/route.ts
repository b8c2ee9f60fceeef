/** A route, declared once: the router and the OpenAPI document are made from it. */
import type Router from "@koa/router";
import type { Middleware } from "koa";
import type { z } from "zod";
import type { Right } from "../http/auth.js";

/** What the OpenAPI document says of it. */
export interface Operation {
  readonly method: "get" | "post" | "patch" | "delete";
  /** With its parameters in braces. */
  readonly path: string;
  readonly tag: "Metrics" | "Lists" | "Stream" | "Ingest" | "Management" | "Sign-in" | "Schemas";
  readonly summary: string;
  readonly description?: string | undefined;
  /** Null: the URL alone decides. */
  readonly right: Right | null;
  readonly query?: z.ZodObject | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType | undefined;
  readonly bodyTypes?: readonly string[] | undefined;
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

/** @typeParam Api what its handlers are made of */
export interface Route<Api> extends Operation {
  handlers(api: Api): Middleware[];
}

export function mount<Api>(router: Router, routes: readonly Route<Api>[], api: Api): void {
  for (const route of routes) {
    const path = route.path.replace(/\{(\w+)\}/g, ":$1");
    router.register(path, [route.method.toUpperCase()], route.handlers(api));
  }
}
