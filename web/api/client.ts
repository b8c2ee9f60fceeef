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
    /** Nothing was to be changed, so asking again does no harm. */
    readonly isRead = false,
  ) {
    super(message);
  }

  static of(thrown: unknown, isRead = false): CallError {
    if (thrown instanceof CallError) return thrown;
    const isLate = thrown instanceof DOMException && thrown.name === "TimeoutError";
    const message = isLate ? "The service does not answer." : "The service cannot be reached.";
    return new CallError(0, "no_answer", message, null, null, isRead);
  }

  /** Whether the same call may well succeed a little later. */
  get isPassing(): boolean {
    return this.isRead && (this.status === 0 || this.status === 429 || this.status >= 500);
  }

  /** What the reader can do about it. */
  get advice(): string {
    const own = adviceOf[this.code];
    if (own !== undefined) return own;
    if (this.status === 0) {
      return this.isRead
        ? "Check the connection; this page tries again by itself."
        : "Check the connection, and whether it was done, before you try again.";
    }
    if (this.status === 401) return "Sign in again.";
    if (this.status === 403) return "Ask an administrator of the workspace for the right to do it.";
    if (this.status === 404) return "Check the link, the workspace and the environment.";
    if (this.status === 429) return "Too many calls; wait a moment.";
    if (this.status >= 500) return "Try again in a moment. If it stays, report the request id.";
    return this.isRead ? "Change the range or the filters." : "Correct it, then try again.";
  }
}

/** Where the status alone would mislead. */
const adviceOf: Readonly<Record<string, string>> = {
  passkey_refused: "Try again, or sign in another way.",
  invitation_invalid: "Ask whoever sent it for a new one.",
  link_invalid: "Whoever runs this service makes a new one: npm run ops -- sign-in-link",
  payouts_unreadable: "Check the API key of the integration, then open this page again.",
  payout_not_ready: "This page opens it once it is there.",
  payout_not_made: "Open this page again later.",
};

export function urlOf(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** A question is given up after so long; a change may take what it takes. */
const answerMsMax = 60_000;

type Method = "GET" | "POST" | "PATCH" | "DELETE";

interface Options {
  /** A file goes as it is, anything else as JSON. */
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** An API key, for calls that sessions may not make. */
  readonly key?: string;
}

/** @returns the JSON answer as it came. @throws CallError */
export async function call<Answer>(
  method: Method,
  url: string,
  options: Options = {},
): Promise<Answer> {
  const isRead = method === "GET";
  const signals = [options.signal ?? [], isRead ? AbortSignal.timeout(answerMsMax) : []].flat();
  try {
    return await answerOf<Answer>(method, url, { ...options, signal: AbortSignal.any(signals) });
  } catch (thrown) {
    throw CallError.of(thrown, isRead);
  }
}

async function answerOf<Answer>(method: Method, url: string, options: Options): Promise<Answer> {
  const { body, signal, key } = options;
  const response = await fetch(url, {
    method,
    credentials: key === undefined ? "same-origin" : "omit",
    headers: {
      Accept: "application/json",
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "Content-Type": contentTypeOf(body) }),
    },
    ...(body === undefined ? {} : { body: body instanceof File ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) {
    const failure = await bodyOf<ErrorBody>(response).catch(() => ({}));
    throw errorOf(response, failure, method === "GET");
  }
  return bodyOf<Answer>(response);
}

/** Of a file by its name: what browsers call a CSV file differs by what is installed. */
function contentTypeOf(body: object): string {
  if (!(body instanceof File)) return "application/json";
  return body.name.endsWith(".gz") ? "application/gzip" : "text/csv";
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

function errorOf(response: Response, { error }: ErrorBody, isRead: boolean): CallError {
  return new CallError(
    response.status,
    error?.code ?? "unknown",
    error?.message ?? `The service answered ${response.status}.`,
    error?.request_id ?? response.headers.get("X-Request-Id"),
    error?.param ?? null,
    isRead,
  );
}
