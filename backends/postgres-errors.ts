/** What the errors of a Postgres server and of the way to it mean. */

/** The server is away, overloaded or changing; the same statement later is right. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === null) return driverSentences.test(error.message);
  return isSystemCode(code) || unavailableStates.has(code) || /^(08|53)/.test(code);
}

/** A sentence for a person about a server that did not let us in. @param url its secrets unused */
export function whyNotOpened(error: unknown, url: URL): string {
  const at = `${url.hostname}:${url.port === "" ? defaultPort : url.port}`;
  const database = decodeURIComponent(url.pathname.slice(1));
  const user = decodeURIComponent(url.username);
  const code = error instanceof Error ? codeOf(error) : null;
  const reason = error instanceof Error && error.message !== "" ? error.message : String(error);
  if (code === "28P01" || code === "28000") {
    return `the server at ${at} does not let the user "${user}" in: ${reason}`;
  }
  if (code === "3D000") {
    return `the server at ${at} has no database "${database}"; make it with: createdb ${database}`;
  }
  if (code === "42501") {
    return `the user "${user}" has not all rights in the database "${database}": ${reason}`;
  }
  if (code === "53300") return `the server at ${at} has no connection left: ${reason}`;
  if (/SSL|certificate/i.test(reason)) {
    return `no encrypted connection to ${at} (${reason}); see sslmode in docs/operating.md`;
  }
  return `the server at ${at} cannot be reached: ${reason || code}`;
}

const defaultPort = "5432";

/** PostgreSQL, Appendix A; beside the classes 08 (connection) and 53 (resources). */
const unavailableStates: ReadonlySet<string> = new Set([
  // Serialization failure, deadlock.
  "40001",
  "40P01",
  // A statement, a wait for a lock, an idle transaction took too long.
  "57014",
  "55P03",
  "25P03",
  // The server shuts down, crashed, or is starting.
  "57P01",
  "57P02",
  "57P03",
  // A standby: it takes no writes.
  "25006",
]);

/** What the driver says without a code (pg 8, client.js; pg-pool, index.js). */
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
