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

/** It says nothing of the rows of the statement: the same one later is right. */
export function isEngineInTrouble(error: unknown): boolean {
  return error instanceof ClickHouseError && inTrouble.has(error.code);
}

/** ErrorCodes.cpp, what no value of a row can cause. */
const inTrouble: ReadonlySet<string | undefined> = new Set(
  [
    // Files: cannot be read, opened, written, synced, or are damaged or gone.
    "23 24 32 33 40 74 75 76 77 88 96 107 228 229",
    "232 233 234 246 382 384 594 602 687",
    // Room and memory; too many parts, statements, threads.
    "160 173 201 202 241 243 252 439 745",
    // Time, network, other servers.
    "3 159 198 203 204 209 210 279 519 999",
    // Replicas, leadership, quorums, what is being changed or stopped.
    "164 225 236 242 244 254 265 285 286 289 319 369 373",
    "394 415 416 472 473 492 512 518 529 573 645 663 667",
    // Access; tables or columns that are not there (yet).
    "16 47 60 81 192 193 194 195 291 497 514 516 517",
  ].flatMap((codes) => codes.split(" ")),
);
