/**
 * A process that appends numbered batches to an embedded engine of its own until it is killed, and
 * sends the number of each, at the end how many rows there are. Its first batch may be there
 * already, as after any end of a process. `append-process.js <path> <first> <end>`
 */
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { createLogger } from "../../runtime/logger.js";
import { migrateClickHouse } from "../../stores/migrations.js";
import { engineLimits } from "../harness/backends.js";
import { numberedBatch, numberedRows } from "./numbered-batches.js";

const [path = "", first = "", end = ""] = process.argv.slice(2);
const clickhouse = await openClickHouse({ path, ...engineLimits });
await migrateClickHouse(clickhouse, createLogger("silent"));
for (let number = Number(first); number < Number(end); number += 1) {
  await clickhouse.append(numberedBatch(number, number === Number(first)));
  process.send?.(number);
}
process.send?.(await numberedRows(clickhouse));
await clickhouse.close();
