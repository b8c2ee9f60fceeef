/** Whether a statement that failed with an error of ClickHouse can succeed later. */
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

/** The user lacks a right (ErrorCodes.cpp: ACCESS_DENIED). */
export const notAllowed = "497";

/** The embedded engine throws the class of its own copy of the client's package. */
export function isClickHouseError(error: unknown): error is ClickHouseError {
  if (error instanceof ClickHouseError) return true;
  return error instanceof Error && error.constructor.name === ClickHouseError.name;
}

export function isNotAllowed(error: unknown): boolean {
  return isClickHouseError(error) && error.code === notAllowed;
}

/** The server understood and refused, and would again. */
export function isRefusal(error: unknown): error is ClickHouseError {
  return isClickHouseError(error) && !otherServerLost.has(error.code);
}

/** The rows of the statement are not to blame: it can succeed later. */
export function isEngineInTrouble(error: unknown): boolean {
  return isClickHouseError(error) && error.type !== undefined && inTrouble.has(error.type);
}

/** Names of errors that no value of a row can cause (ErrorCodes.cpp). */
export const inTrouble: ReadonlySet<string> = new Set(
  [
    // Files cannot be read or written, are damaged or gone.
    "CANNOT_OPEN_FILE CANNOT_CLOSE_FILE CANNOT_CREATE_FILE CANNOT_FSYNC CANNOT_FSTAT",
    "CANNOT_STAT CANNOT_STATVFS CANNOT_LINK CANNOT_UNLINK CANNOT_CREATE_DIRECTORY",
    "CANNOT_SEEK_THROUGH_FILE CANNOT_TRUNCATE_FILE CANNOT_READ_ALL_DATA",
    "CANNOT_READ_FROM_ISTREAM CANNOT_WRITE_TO_OSTREAM UNEXPECTED_END_OF_FILE",
    "CANNOT_READ_FROM_FILE_DESCRIPTOR CANNOT_WRITE_TO_FILE_DESCRIPTOR",
    "CANNOT_IO_SUBMIT CANNOT_IO_GETEVENTS CANNOT_IOSETUP CANNOT_MUNMAP",
    "FILE_DOESNT_EXIST BAD_SIZE_OF_FILE_IN_DATA_PART NO_FILE_IN_DATA_PART",
    "NO_SUCH_DATA_PART CHECKSUM_DOESNT_MATCH CORRUPTED_DATA PART_IS_TEMPORARILY_LOCKED",
    "POTENTIALLY_BROKEN_DATA_PART BROKEN_PROJECTION S3_ERROR AZURE_BLOB_STORAGE_ERROR",
    // Room, memory, time, too much at once.
    "NOT_ENOUGH_SPACE CANNOT_ALLOCATE_MEMORY MEMORY_LIMIT_EXCEEDED QUOTA_EXCEEDED",
    "TOO_MANY_SIMULTANEOUS_QUERIES TOO_MANY_PARTS TOO_MANY_MUTATIONS TOO_SLOW",
    "TIMEOUT_EXCEEDED SERVER_OVERLOADED CANNOT_SCHEDULE_TASK PTHREAD_ERROR",
    "RESOURCE_LIMIT_EXCEEDED MEMORY_RESERVATION_KILLED MEMORY_RESERVATION_FAILED",
    "RECEIVED_ERROR_TOO_MANY_REQUESTS USER_SESSION_LIMIT_EXCEEDED",
    "TCP_CONNECTION_LIMIT_REACHED HTTP_CONNECTION_LIMIT_REACHED",
    // The network, other servers, replicas and Keeper.
    "ATTEMPT_TO_READ_AFTER_EOF DNS_ERROR SOCKET_TIMEOUT NETWORK_ERROR",
    "NO_FREE_CONNECTION ALL_CONNECTION_TRIES_FAILED SHARD_HAS_NO_CONNECTIONS",
    "CANNOT_READ_FROM_SOCKET CANNOT_WRITE_TO_SOCKET NO_REMOTE_SHARD_AVAILABLE",
    "TOO_MANY_UNAVAILABLE_SHARDS DISTRIBUTED_TOO_MANY_PENDING_BYTES",
    "NO_ZOOKEEPER UNEXPECTED_ZOOKEEPER_ERROR KEEPER_EXCEPTION NOT_A_LEADER",
    "NO_REPLICA_HAS_PART NO_ACTIVE_REPLICAS NO_AVAILABLE_REPLICA NO_SUCH_REPLICA",
    "TOO_FEW_LIVE_REPLICAS UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE",
    "REPLICA_IS_NOT_IN_QUORUM UNKNOWN_STATUS_OF_INSERT UNKNOWN_STATUS_OF_TRANSACTION",
    "ALL_REPLICAS_ARE_STALE ALL_REPLICAS_LOST REPLICA_STATUS_CHANGED",
    "REPLICA_IS_ALREADY_ACTIVE TOO_MANY_RETRIES_TO_FETCH_PARTS",
    // It is stopping, busy with the same table, or was asked to stop the statement.
    "ABORTED QUERY_WAS_CANCELLED QUERY_WAS_CANCELLED_BY_CLIENT THREAD_WAS_CANCELED",
    "ASYNC_LOAD_CANCELED SESSION_IS_LOCKED DEADLOCK_AVOIDED NOT_INITIALIZED",
    "READONLY READONLY_SETTING TABLE_IS_READ_ONLY CANNOT_ASSIGN_ALTER",
    // Rights; tables and columns that are missing (for now).
    "ACCESS_DENIED DATABASE_ACCESS_DENIED RESOURCE_ACCESS_DENIED AUTHENTICATION_FAILED",
    "UNKNOWN_USER WRONG_PASSWORD REQUIRED_PASSWORD IP_ADDRESS_NOT_ALLOWED",
    "ACCESS_ENTITY_NOT_FOUND UNKNOWN_DATABASE UNKNOWN_TABLE UNKNOWN_IDENTIFIER",
    "NO_SUCH_COLUMN_IN_TABLE",
  ].flatMap((names) => names.split(" ")),
);
