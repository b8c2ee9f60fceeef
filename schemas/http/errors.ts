/**
 * Everything a caller can be reported is wrong, and the one shape it is reported in
 * (`definitions.md`, Errors). Handlers throw these; app.ts turns them into the answer. `code` is
 * stable and for programs, `message` is for people, and neither ever holds a secret.
 */
import { z } from "zod";

export const errorAnswer = z
  .object({
    status: z.literal("error"),
    error: z.object({
      type: z.enum([
        "invalid_request",
        "authentication",
        "permission",
        "not_found",
        "conflict",
        "rate_limited",
        "unavailable",
        "internal",
      ]),
      code: z.string().describe("Stable, for programs."),
      message: z.string().describe("For people."),
      param: z.string().exactOptional().describe("The field or parameter that is wrong."),
      request_id: z.string(),
    }),
  })
  .meta({ id: "Error" });
export type ErrorEnvelope = z.output<typeof errorAnswer>;
export type ErrorType = ErrorEnvelope["error"]["type"];

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The field, query parameter or header that is wrong. */
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly status: number,
    readonly type: ErrorType,
    readonly code: string,
    message: string,
    more: {
      param?: string | undefined;
      headers?: Readonly<Record<string, string>>;
      /** For the log only. */
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.param = more.param;
    this.headers = more.headers ?? {};
  }
}

export function errorEnvelope(error: ApiError, requestId: string): ErrorEnvelope {
  const { type, code, message, param } = error;
  return {
    status: "error",
    error: {
      type,
      code,
      message,
      ...(param === undefined ? {} : { param }),
      request_id: requestId,
    },
  };
}

/** 400: the call itself is malformed. */
export const malformed = (code: string, message: string, param?: string) =>
  new ApiError(400, "invalid_request", code, message, { param });

/** 401 */
export const unauthenticated = (code: string, message: string) =>
  new ApiError(401, "authentication", code, message, { headers: { "WWW-Authenticate": "Bearer" } });

/** 403 */
export const forbidden = (code: string, message: string) =>
  new ApiError(403, "permission", code, message);

/** 404 */
export const notFound = (code: string, message: string) =>
  new ApiError(404, "not_found", code, message);

/** 405 @param allow the methods the path knows, comma separated */
export const methodNotAllowed = (allow: string) =>
  new ApiError(405, "invalid_request", "method_not_allowed", `This path knows ${allow}.`, {
    headers: { Allow: allow },
  });

/** 406 */
export const notAcceptable = (message: string) =>
  new ApiError(406, "invalid_request", "not_acceptable", message, { param: "Accept" });

/** 409 */
export const conflict = (code: string, message: string, param?: string) =>
  new ApiError(409, "conflict", code, message, { param });

/** 413; the connection closes, because the rest of the body was not read. */
export const tooLarge = (message: string) =>
  new ApiError(413, "invalid_request", "body_too_large", message, {
    headers: { Connection: "close" },
  });

/** 415 */
export const wrongContentType = (code: string, message: string) =>
  new ApiError(415, "invalid_request", code, message);

/** 422: well-formed but wrong. */
export const unprocessable = (code: string, message: string, param?: string) =>
  new ApiError(422, "invalid_request", code, message, { param });

/** 503: nothing was taken; the same call later is right. */
export const unavailable = (
  code: string,
  message: string,
  retryAfterSeconds = 1,
  cause?: unknown,
) =>
  new ApiError(503, "unavailable", code, message, {
    headers: { "Retry-After": String(retryAfterSeconds) },
    cause,
  });

/** 500: our own mistake. Says nothing of the cause; the log does, under the request id. */
export const internal = () =>
  new ApiError(500, "internal", "internal", "Internal error; the log has the details.");

/** 500: our own mistake with one event. Nothing of it was taken; others of its call may be. */
export const eventFailed = (cause: unknown) =>
  new ApiError(
    500,
    "internal",
    "internal_error",
    "The service failed on this event, which was not taken; the log has the details.",
    { cause },
  );
