/** What the embedded backends cost without the service: the time to open them. */
import { join } from "node:path";
import { z } from "zod";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { createLogger } from "../../runtime/logger.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { readConfig } from "../../config.js";
import { topics } from "../../schemas/records/records.js";
import { report, withChild } from "./processes.js";

/** From the start of the process until all three are open. */
export async function openStoresMs(folder: string): Promise<number> {
  return withChild("store-floor", [folder], (message) => storeFloor.parse(message).openMs);
}

const storeFloor = z.object({ openMs: z.number() });

/** Runs as a child. */
export async function run([folder = ""]: readonly string[]): Promise<void> {
  const { CLICKHOUSE_MEMORY_BYTES: memoryBytes, CLICKHOUSE_THREADS: threads } = readConfig({});
  const logger = createLogger("silent");
  const kept = { partitions: 1, retentionMs: null, retentionBytes: null };
  const log = openLmdbLog({
    path: join(folder, "log"),
    topics: {
      [topics.raw]: kept,
      [topics.incomplete]: kept,
      [topics.facts]: kept,
      [topics.rejected]: kept,
      [topics.transactions]: kept,
      [topics.movements]: kept,
    },
    logger,
  });
  const postgres = await openPostgres({ path: join(folder, "postgres") }, logger);
  const path = join(folder, "clickhouse");
  const clickhouse = await openClickHouse({ path, memoryBytes, threads });
  // The clock of `performance` begins with the process.
  const openMs = performance.now();

  await clickhouse.close();
  await postgres.close();
  await log.close();
  report({ openMs });
  process.disconnect();
}
