/** Where the ClickHouse engine lies that the package `chdb` carries; nothing of it is loaded. */
import { tryResolveLibchdb } from "chdb/libchdb";

/** The path of the shared library; null where the package has none for this platform. */
export function clickhouseLibrary(): string | null {
  return tryResolveLibchdb()?.path ?? null;
}
