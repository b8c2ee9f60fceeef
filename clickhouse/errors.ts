/** What an error of a ClickHouse server says about trying again. */
import { ClickHouseError } from "@clickhouse/client";

/**
 * Another server of its cluster could not be reached, or was lost amid the answer. ErrorCodes.cpp:
 * ATTEMPT_TO_READ_AFTER_EOF, DNS_ERROR, SOCKET_TIMEOUT, NETWORK_ERROR, ALL_CONNECTION_TRIES_FAILED.
 */
const otherServerLost: ReadonlySet<string | undefined> = new Set([
  "32",
  "198",
  "209",
  "210",
  "279",
]);

/** The user has not the right to (ErrorCodes.cpp: ACCESS_DENIED). */
export const notAllowed = "497";

export function isNotAllowed(error: unknown): boolean {
  return error instanceof ClickHouseError && error.code === notAllowed;
}

/** The server understood and refused: it would again. */
export function isRefusal(error: unknown): error is ClickHouseError {
  return error instanceof ClickHouseError && !otherServerLost.has(error.code);
}
