/**
 * What the embedded backends cost without the service: the time to open them, and one round of the
 * least a webhook needs to be readable: a durable append to the log, a durable insert, a look.
 */
import { join } from "node:path";
import { z } from "zod";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { durableSettings } from "../../stores/clickhouse/settings.js";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { createLogger } from "../../runtime/logger.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { readConfig } from "../../config.js";
import { topics } from "../../schemas/records/records.js";
import { report, withChild } from "./processes.js";

export interface StoreFloor {
  /** From the start of the process until all three are open. */
  readonly openMs: number;
  readonly roundsMs: readonly number[];
}

const rounds = 300;
const bodyBytes = 3_100;

export function measureStores(folder: string): Promise<StoreFloor> {
  return withChild("store-floor", [folder], (message) => storeFloor.parse(message));
}

const storeFloor = z.object({ openMs: z.number(), roundsMs: z.array(z.number()) });

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

  await clickhouse.write(
    `CREATE TABLE IF NOT EXISTS floor (id UInt64, body String) ENGINE = MergeTree ORDER BY id
     SETTINGS index_granularity = 256${durableSettings}`,
  );
  const value = Buffer.alloc(bodyBytes, "x");
  const roundsMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    await log.append(topics.raw, [{ key: "floor", value }]);
    await clickhouse.write("INSERT INTO floor VALUES ({id:UInt64}, 'x')", { id: round });
    await clickhouse.rows("SELECT * FROM floor WHERE id = {id:UInt64}", { id: round });
    roundsMs.push(performance.now() - startedAt);
  }
  await clickhouse.close();
  await postgres.close();
  await log.close();
  report({ openMs, roundsMs } satisfies StoreFloor);
  process.disconnect();
}
