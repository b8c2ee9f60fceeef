/** Calls to the service. Every failure is a CallError that a person can be shown. */
import type { Changes } from "../state/view.js";

export type Params = Changes;

export class CallError extends Error {
  override readonly name = "CallError";

  constructor(
    /** 0: no answer came. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    readonly param: string | null = null,
  ) {
    super(message);
  }

  static of(thrown: unknown): CallError {
    if (thrown instanceof CallError) return thrown;
    return new CallError(0, "no_answer", "The service cannot be reached.", null);
  }

  /** What the reader can do about it. */
  get advice(): string {
    if (this.status === 0) return "Check the connection; this page tries again by itself.";
    if (this.status === 401) return "Sign in again.";
    if (this.status === 403) return "Ask an administrator of the workspace for the right to do it.";
    if (this.status === 404) return "Check the link, the workspace and the environment.";
    if (this.status === 429) return "Too many calls; wait a moment.";
    if (this.status >= 500) return "Try again in a moment. If it stays, report the request id.";
    return "Change the range or the filters.";
  }
}

export function urlOf(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** @returns the JSON answer as it came. @throws CallError */
export async function call<Answer>(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  url: string,
  options: { readonly body?: object; readonly signal?: AbortSignal } = {},
): Promise<Answer> {
  const { body, signal } = options;
  const response = await fetch(url, {
    method,
    credentials: "same-origin",
    headers: {
      Accept: "application/json",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw errorOf(response, await bodyOf<ErrorBody>(response).catch(() => ({})));
  return bodyOf<Answer>(response);
}

/** The service's own schemas made the answer; here it is taken at its word. */
async function bodyOf<Body>(response: Response): Promise<Body> {
  const body: Body = await response.json();
  return body;
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly param?: string;
    readonly request_id?: string;
  };
}

function errorOf(response: Response, { error }: ErrorBody): CallError {
  return new CallError(
    response.status,
    error?.code ?? "unknown",
    error?.message ?? `The service answered ${response.status}.`,
    error?.request_id ?? response.headers.get("X-Request-Id"),
    error?.param ?? null,
  );
}
