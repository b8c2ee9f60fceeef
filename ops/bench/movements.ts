/**
 * MRR movements of a large tenant: the command that rebuilds everything, and MRR as known a week
 * ago. `--rows` is the number of changes, five an account.
 */
import { join } from "node:path";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { bookedNow } from "../../schemas/booked-at.js";
import { merged, openTables } from "./fill.js";
import { below, type Figure, median, spread } from "./figures.js";
import { HttpConnection } from "./http-connection.js";
import type { Options } from "./options.js";
import { report, withChild, withFolder } from "./processes.js";
import { timesOf } from "./queries.js";
import { nodeCommand, runCommand, withService } from "./service.js";
import { createTenant } from "./tenant.js";

const changesPerAccount = 5;
const dayMs = 24 * 60 * 60 * 1000;
const yearsMs = 2 * 365 * dayMs;
const insertRows = 1_000_000;

export function movements({ rows }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), createTenant);
    const path = join(folder, "clickhouse");
    await withChild("movements", [path, tenant.workspace, String(rows)], () => undefined);
    const rebuildMs = await runCommand(folder, ["rebuild"]);
    console.log(`  rebuilt in ${Math.round(rebuildMs)} ms`);
    const name = `${rows.toLocaleString("en")} changes`;
    const figures = [below(300_000, `rebuild of ${name}`, rebuildMs)];
    return withService(folder, nodeCommand(), async (service) => {
      const connection = await HttpConnection.open(service.base);
      const weekAgo = new Date(Date.now() - 7 * dayMs).toISOString();
      for (const [question, msMax] of [
        ["/v1/metrics/mrr", null],
        [`/v1/metrics/mrr?known_at=${weekAgo}`, 40],
      ] as const) {
        const { valuesMs } = await timesOf(connection, question, tenant);
        console.log(`  ${question.slice(0, 38).padEnd(38)}  ${spread(valuesMs)}`);
        figures.push(below(msMax, `GET ${question.slice(0, 38)}, ${name}`, median(valuesMs)));
      }
      connection.close();
      return figures;
    });
  });
}

/** Runs as a child, while the service is down: the engine opens a path once per process. */
export async function run([
  path = "",
  workspace = "",
  rows = "",
]: readonly string[]): Promise<void> {
  const clickhouse = await openTables(path);
  await fill(clickhouse, workspace, Number(rows));
  await merged(clickhouse);
  await clickhouse.close();
  report({});
  process.disconnect();
}

const account = (number: string): string => `leftPad(toString(${number}), 12, '0')`;
const eventId = (number: string): string => `concat('evt_norm_', hex(sipHash128(${number})))`;

/** Of each account a start, three changes of the price, and in one of five accounts an end. */
async function fill(clickhouse: ClickHouse, workspace: string, rows: number): Promise<void> {
  const spacing = Math.floor(yearsMs / (changesPerAccount + 2));
  for (let from = 0; from < rows; from += insertRows) {
    await clickhouse.write(
      `INSERT INTO subscription_changes
       SELECT {workspace:String}, 'live', ${account("a")}, 'stripe', concat('sub_', toString(a)),
              concat(${eventId("number")}, ':0'), 1, 0, at,
              multiIf(step = 0, 'started', ended, 'ended', 'changed'), ${eventId("number")}, at,
              'EUR', '',
              [(at, if(ended, [], [('si_1', concat('prod_', toString(a % 20)),
                concat('EUR:', toString(1000 + 100 * price), '/1'),
                toDecimal128(10 + price, 6))]))], ${bookedNow}
       FROM (
         SELECT number, intDiv(number, ${changesPerAccount}) AS a,
                number % ${changesPerAccount} AS step,
                step = ${changesPerAccount - 1} AND a % 5 = 0 AS ended,
                (a * 7 + step * 3) % 50 AS price,
                fromUnixTimestamp64Milli(
                  {begin:Int64} + toInt64(step * ${spacing} + (a * 7919) % ${spacing}), 'UTC') AS at
         FROM numbers({from:UInt64}, {rows:UInt64})
       )`,
      {
        workspace,
        from,
        rows: Math.min(insertRows, rows - from),
        begin: String(Date.now() - yearsMs),
      },
    );
  }
}
