/** The path of the ClickHouse engine in the package `chdb`, without loading it. */
import { tryResolveLibchdb } from "chdb/libchdb";

/** Null where the package has none for this platform. */
export function clickhouseLibrary(): string | null {
  return tryResolveLibchdb()?.path ?? null;
}
