/**
 * MRR movements of a large tenant: the difference step for new changes, the rebuild and the audit
 * of everything, and MRR as known a day ago. `--rows` is the number of changes, five an account.
 * Floors: to read once, and do nothing with, what each of them works on.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { auditSlice, rebuildMovements } from "../../audits/movements.js";
import { accountSlices, eachOf, movementTables } from "../../audits/account-slices.js";
import { clickhouseTime, rowsIn } from "../../clickhouse/rows.js";
import { openClickHouse } from "../../clickhouse/open.js";
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { chunksBySize } from "../../runtime/chunk.js";
import { readConfig } from "../../config.js";
import { bookedNow } from "../../schemas/booked-at.js";
import { differenceSql, movementRowColumns } from "../../schemas/movements.js";
import { type Figure, median, spread } from "./figures.js";
import { HttpConnection, requestBytes } from "./http-connection.js";
import type { Options } from "./options.js";
import { report, withChild, withFolder } from "./processes.js";
import { nodeCommand, withService } from "./service.js";
import { createTenant } from "./tenant.js";

const changesPerAccount = 5;
const newChanges = 20_000;
/** As the processors take them (`bookSubscriptionsBatchRecordsMax`). */
const changesPerStep = 10_000;
const dayMs = 24 * 60 * 60 * 1000;
const yearsMs = 2 * 365 * dayMs;
const insertRows = 1_000_000;
const calls = 20;

export function movements({ rows }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), createTenant);
    const path = join(folder, "clickhouse");
    const { differences, ...ms } = await withChild(
      "movements",
      [path, tenant.workspace, String(rows)],
      (message) => measured.parse(message),
    );
    if (differences > 0) throw new Error(`the audit found ${differences} differences`);
    const name = `${rows.toLocaleString("en")} changes`;
    const figures: Figure[] = [
      {
        name: `rebuild of ${name}`,
        value: ms.rebuild,
        unit: "ms",
        floor: ms.changesRead,
        target: { valueMax: 90_000 },
      },
      {
        name: `audit of ${name}`,
        value: ms.audit,
        unit: "ms",
        floor: ms.changesRead + ms.movementsRead,
        target: { valueMax: 60_000 },
      },
      {
        name: "difference step",
        value: perSecond(ms.step),
        unit: "/s",
        floor: perSecond(ms.accountsRead),
        target: { valueMin: 20_000 },
      },
    ];
    return withService(folder, nodeCommand(), async (service) => {
      const connection = await HttpConnection.open(service.base);
      const yesterday = new Date(Date.now() - dayMs).toISOString();
      for (const [question, msMax] of [
        ["/v1/metrics/mrr", null],
        [`/v1/metrics/mrr?known_at=${yesterday}`, 500],
      ] as const) {
        const request = requestBytes("GET", question, { Authorization: tenant.authorization });
        const valuesMs: number[] = [];
        for (let call = 0; call < calls; call += 1) {
          const startedAt = performance.now();
          const { status, body } = await connection.send(request);
          if (status !== 200) throw new Error(`${question}: ${status} ${body.toString()}`);
          valuesMs.push(performance.now() - startedAt);
        }
        console.log(`  ${question.slice(0, 30).padEnd(30)}  ${spread(valuesMs)}`);
        figures.push({
          name: `GET ${question.slice(0, 25)}, ${name}`,
          value: median(valuesMs),
          unit: "ms",
          ...(msMax === null ? {} : { target: { valueMax: msMax } }),
        });
      }
      connection.close();
      return figures;
    });
  });
}

/** ms, but for the number of differences. */
const measured = z.object({
  changesRead: z.number(),
  rebuild: z.number(),
  movementsRead: z.number(),
  audit: z.number(),
  differences: z.number(),
  step: z.number(),
  accountsRead: z.number(),
});

function perSecond(ms: number): number {
  return (newChanges / ms) * 1000;
}

/** Runs as a child, while the service is down: the engine opens a path once per process. */
export async function run([
  path = "",
  workspace = "",
  rows = "",
]: readonly string[]): Promise<void> {
  const { CLICKHOUSE_MEMORY_BYTES: memoryBytes, CLICKHOUSE_THREADS: threads } = readConfig({});
  const clickhouse = await openClickHouse({ path, memoryBytes, threads });
  const accounts = Math.max(1, Math.floor(Number(rows) / changesPerAccount));
  await fill(clickhouse, workspace, Number(rows));
  await merged(clickhouse, "after the rows were filled in");
  const read = (table: string, condition = "true") =>
    clickhouse.rows(`SELECT sum(cityHash64(*)) FROM ${table} WHERE ${condition}`);
  const changesRead = await timeOf(() => read("subscription_changes"));
  const rebuild = await timeOf(() => rebuildMovements(clickhouse, workspace));
  console.log(`  rebuilt in ${Math.round(rebuild)} ms`);
  await merged(clickhouse, "after the rebuild");
  const movementsRead = await timeOf(() => read("mrr_movements"));
  let differences = 0;
  const audit = await timeOf(async () => {
    const slices = accountSlices(clickhouse, { workspace, environment: "live" });
    // As the audit does while nothing is booked (processors/audit/audit.ts).
    await eachOf(slices, [0, 1], async (slice) => {
      const found = await auditSlice(clickhouse, slice, async () => Date.now());
      differences += found.differences;
    });
  });
  console.log(`  audited in ${Math.round(audit)} ms`);
  const step = await timeOf(() => addChanges(clickhouse, workspace, accounts));
  const accountsRead = await timeOf(async () => {
    for (const numbers of stepsOf(accounts)) {
      for (const table of movementTables) await read(table, touchedSql(workspace, numbers));
    }
  });
  await clickhouse.close();
  report({ changesRead, rebuild, movementsRead, audit, differences, step, accountsRead });
  process.disconnect();
}

const mergeMsMax = 5 * 60 * 1000;
const mergesEveryMs = 500;
/** The engine rests between two merges; it is done when so many looks in a row find none. */
const idleLooks = 10;

/** Rows do not come by the million otherwise: what is measured next is not to share the cores. */
async function merged(clickhouse: ClickHouse, when: string): Promise<void> {
  const startedAt = performance.now();
  for (let idle = 0; idle < idleLooks && performance.now() - startedAt < mergeMsMax;) {
    const merges = await clickhouse.rows("SELECT 1 FROM system.merges LIMIT 1");
    idle = merges.length === 0 ? idle + 1 : 0;
    await pause(mergesEveryMs);
  }
  console.log(`  waited ${Math.round(performance.now() - startedAt)} ms for merges ${when}`);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
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

/** New changes of accounts from all over the table, in steps as booking takes them. */
async function addChanges(
  clickhouse: ClickHouse,
  workspace: string,
  accounts: number,
): Promise<void> {
  const recordedAt = clickhouseTime(Date.now());
  for (const numbers of stepsOf(accounts)) {
    await clickhouse.write(
      `INSERT INTO subscription_changes
       SELECT {workspace:String}, 'live', ${account("a")}, 'stripe', concat('sub_', toString(a)),
              concat('new_', toString(a), ':0'), 1, 0, '${recordedAt}', 'changed',
              concat('new_', toString(a)), '${recordedAt}', 'EUR', '',
              [(toDateTime64('${recordedAt}', 3, 'UTC'), [('si_1', 'prod_1', 'EUR:7700/1',
                toDecimal128(77, 6))])], ${bookedNow}
       FROM (SELECT arrayJoin([${numbers.join(", ")}]) AS a)`,
      { workspace },
      "subscriptions",
    );
    const cause = { recordedAt: `toDateTime64('${recordedAt}', 3, 'UTC')`, eventId: "'evt_new'" };
    await clickhouse.write(
      `INSERT INTO mrr_movements (${movementRowColumns})
       ${differenceSql(touchedSql(workspace, numbers), cause)}`,
      {},
      "subscriptions",
    );
  }
}

/** Numbers of the accounts that change, a list for each step. */
function stepsOf(accounts: number): Iterable<number[]> {
  const numbers = Array.from({ length: newChanges }, (_, index) => (index * 7919) % accounts);
  return chunksBySize(numbers, changesPerStep, () => 1);
}

function touchedSql(workspace: string, numbers: readonly number[]): string {
  return rowsIn(
    "(workspace, environment, account)",
    numbers.map((number) => [workspace, "live", String(number).padStart(12, "0")]),
  );
}
