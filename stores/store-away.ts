/**
 * Whether a failure means that a store (the log, ClickHouse, Postgres) or this process is in
 * trouble: then the same batch succeeds later. Any other failure, an assertion included, counts
 * against the events of the batch (stores/log/partition-consumer.ts).
 */
import { StoreBusy, StoreUnavailable } from "./clickhouse/clickhouse.js";
import { isEngineInTrouble } from "./clickhouse/errors.js";
import { LogUnavailable, LogUnreadable } from "./log/log.js";
import { isLasting, isUnavailable } from "./postgres/errors.js";
import { PostgresUnavailable } from "./postgres/postgres.js";

/** Thrown where the same batch succeeds later, and no store is to blame. */
export class TryLater extends Error {
  override readonly name: string = "TryLater";
}

export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (stores.some((store) => error instanceof store)) return true;
  if (isEngineInTrouble(error)) return true;
  if (isUnavailable(error) || isLasting(error)) return true;
  if (named.test(error.name)) return true;
  if ("code" in error && isCodeOfTrouble(error.code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isStoreAway);
  return isStoreAway(error.cause);
}

const stores = [
  LogUnavailable,
  LogUnreadable,
  StoreBusy,
  StoreUnavailable,
  PostgresUnavailable,
  TryLater,
];

/** Of kafkajs; of a deadline that passed, or a stop. */
const named = /^(KafkaJS|AbortError$|TimeoutError$)/;

/** SQLSTATE: access, a missing database, the operator, the system, damaged files. */
const postgresAway = /^(28|3D|3F|42501|57|58|F0|XX001|XX002)/;

/** LMDB numbers its errors from here on; those below zero are also the operating system's. */
function isCodeOfTrouble(code: unknown): boolean {
  if (typeof code === "number") return code < 0;
  return typeof code === "string" && code.length === 5 && postgresAway.test(code);
}
