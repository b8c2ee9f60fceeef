/**
 * MRR movements of a large tenant: the command that rebuilds everything, and MRR as known a week
 * ago. `--rows` is the number of changes, five an account.
 */
import { join } from "node:path";
import { bookedNow } from "../../schemas/booked-at.js";
import { type Statement, writeTables } from "./fill.js";
import { below, type Figure, median, type Options, spread } from "./figures.js";
import { withFolder } from "./processes.js";
import { askerOf, timesOf } from "./queries.js";
import { nodeCommand, runCommand, withService } from "./service.js";
import { createTenant } from "./tenant.js";

const changesPerAccount = 5;
const dayMs = 24 * 60 * 60 * 1000;
const yearsMs = 2 * 365 * dayMs;
const insertRows = 1_000_000;

export function movements({ rows }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), createTenant);
    await writeTables(join(folder, "clickhouse"), changes(tenant.workspace, rows));
    const rebuildMs = await runCommand(folder, ["rebuild"]);
    console.log(`  rebuilt in ${Math.round(rebuildMs)} ms`);
    const name = `${rows.toLocaleString("en")} changes`;
    const figures = [below(300_000, `rebuild of ${name}`, rebuildMs)];
    return withService(folder, nodeCommand(), async (service) => {
      const ask = askerOf(service.base, tenant);
      const weekAgo = new Date(Date.now() - 7 * dayMs).toISOString();
      for (const [question, msMax] of [
        ["/v1/metrics/mrr", null],
        [`/v1/metrics/mrr?known_at=${weekAgo}`, 40],
      ] as const) {
        const { valuesMs } = await timesOf(() => ask(question));
        console.log(`  ${question.slice(0, 38).padEnd(38)}  ${spread(valuesMs)}`);
        figures.push(below(msMax, `GET ${question.slice(0, 38)}, ${name}`, median(valuesMs)));
      }
      return figures;
    });
  });
}

const account = (number: string): string => `leftPad(toString(${number}), 12, '0')`;
const eventId = (number: string): string => `concat('evt_norm_', hex(sipHash128(${number})))`;

/** Of each account a start, three changes of the price, and in one of five accounts an end. */
function changes(workspace: string, rows: number): Statement[] {
  const begin = String(Date.now() - yearsMs);
  return Array.from({ length: Math.ceil(rows / insertRows) }, (_, index) => {
    const from = index * insertRows;
    const params = { workspace, from, rows: Math.min(insertRows, rows - from), begin };
    return { lane: "subscriptions", sql: changesSql, params };
  });
}

const spacing = Math.floor(yearsMs / (changesPerAccount + 2));
const changesSql = `INSERT INTO subscription_changes
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
       )`;
