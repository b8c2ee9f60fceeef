/** What the errors of a Postgres server and of its connections mean. */

/** Too old for an installation. */
export class TooOld extends Error {}

/** A standby, or a user or database configured as read-only. */
export class TakesNoWrites extends Error {
  readonly code = readOnly;
}

/** It will not pass, although its code says so. */
export function isLasting(error: unknown): boolean {
  return error instanceof Error && (ofPoolers.test(error.message) || isFileMissing(error));
}

/** The server is unavailable, overloaded or changing; the same statement succeeds later. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === null) return driverSentences.test(error.message);
  return isSystemCode(code) || unavailableStates.has(code) || /^(08|53)/.test(code);
}

/**
 * Says to a person why a server refused us.
 * @param url its secrets unused
 */
export function whyNotOpened(error: unknown, url: URL): string {
  const met: Met = {
    at: `${url.hostname}:${url.port === "" ? defaultPort : url.port}`,
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username),
    code: error instanceof Error ? codeOf(error) : null,
    reason: error instanceof Error && error.message !== "" ? error.message : String(error),
    error,
  };
  const known = refusals.find(([isMet]) => isMet(met));
  if (known !== undefined) return known[1](met);
  return `the server at ${met.at} cannot be reached: ${met.reason || met.code}`;
}

interface Met {
  /** `host:port` */
  readonly at: string;
  readonly database: string;
  readonly user: string;
  readonly code: string | null;
  readonly reason: string;
  readonly error: unknown;
}

/** The first that matches is reported. */
const refusals: readonly [isMet: (met: Met) => boolean, sentence: (met: Met) => string][] = [
  [
    ({ error }) => error instanceof TooOld,
    ({ at, reason }) => `the server at ${at} is Postgres ${reason}; 15 or later is needed`,
  ],
  [
    ({ error }) => error instanceof TakesNoWrites,
    ({ at, user }) =>
      `the server at ${at} takes no writes of the user "${user}": name the primary, not a ` +
      "standby, and a user without default_transaction_read_only",
  ],
  [
    ({ reason }) => reason.includes("startup parameter"),
    ({ at, reason }) =>
      `the pooler at ${at} refuses how connections begin (${reason}); PgBouncer needs ` +
      "ignore_startup_parameters = statement_timeout,lock_timeout," +
      "idle_in_transaction_session_timeout",
  ],
  [
    ({ reason }) => reason.includes("statement pooling"),
    ({ at, reason }) =>
      `the pooler at ${at} gives no transactions (${reason}); PgBouncer needs ` +
      "pool_mode = transaction",
  ],
  [
    ({ error }) => isFileMissing(error),
    ({ reason }) => `a file that it names cannot be read: ${reason}`,
  ],
  [
    ({ reason }) => reason.includes("no encryption"),
    ({ at, reason }) =>
      `the server at ${at} asks for an encrypted connection (${reason}); add ` +
      "?sslmode=require, or verify-full",
  ],
  [
    ({ reason }) => reason.includes("password must be a string"),
    ({ at }) =>
      `the server at ${at} asks for a password; write it as ` +
      "postgres://user:password@host:5432/database",
  ],
  [
    ({ code }) => code === "28P01" || code === "28000",
    ({ at, user, reason }) => `the server at ${at} does not let the user "${user}" in: ${reason}`,
  ],
  [
    ({ code }) => code === "3D000",
    ({ at, database }) =>
      `the server at ${at} has no database "${database}"; make it with: createdb ${database}`,
  ],
  [
    ({ code }) => code === "42501",
    ({ user, database, reason }) =>
      `the user "${user}" has not all rights in the database "${database}": ${reason}`,
  ],
  [
    ({ code }) => code === "53300",
    ({ at, reason }) => `the server at ${at} has no connection left: ${reason}`,
  ],
  [
    ({ reason }) => /SSL|certificate/i.test(reason),
    ({ at, reason }) =>
      `no encrypted connection to ${at} (${reason}); see sslmode in docs/operating.md`,
  ],
  [
    ({ reason }) => reason.startsWith("Connection terminated"),
    ({ at, reason }) =>
      `what listens at ${at} does not answer as Postgres does (${reason}); its port is ` +
      `${defaultPort} unless it was changed`,
  ],
];

const defaultPort = "5432";
const ofPoolers = /unsupported startup parameter|statement pooling mode/;
const readOnly = "25006";

function isFileMissing(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "open";
}

/** PostgreSQL, Appendix A; beside the classes 08 (connection) and 53 (resources). */
const unavailableStates: ReadonlySet<string> = new Set([
  // Serialization failure, deadlock.
  "40001",
  "40P01",
  // A statement, a wait for a lock, or an idle transaction took too long.
  "57014",
  "55P03",
  "25P03",
  // The server shuts down, crashed, or is starting.
  "57P01",
  "57P02",
  "57P03",
  // A standby: it takes no writes.
  readOnly,
]);

/** Errors of the driver without a code (pg 8, client.js; pg-pool, index.js). */
const driverSentences = new RegExp(
  "^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|" +
    "Client has encountered a connection error|Client was closed)",
);

/** ECONNREFUSED, ENOTFOUND, EAI_AGAIN, EPIPE … of the operating system; not Node's ERR_…. */
function isSystemCode(code: string): boolean {
  return /^E(?!RR_)[A-Z_]{3,}$/.test(code);
}

function codeOf(error: Error): string | null {
  return "code" in error && typeof error.code === "string" ? error.code : null;
}
