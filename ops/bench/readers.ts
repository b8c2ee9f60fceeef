/**
 * Webhooks of one workspace while twelve connections of another's key ask the heaviest questions
 * the interface has, one kind after the other: a reader must not slow the doors of others.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Figure, percentile, spread } from "./figures.js";
import { fillTables, yearMs, years } from "./fill.js";
import { type Answer, ConnectionPool } from "./http-connection.js";
import { sendEvenly } from "./load.js";
import type { Options } from "./options.js";
import { mainThreadMs } from "./processor-time.js";
import { withChild, withFolder } from "./processes.js";
import { tenantWithSales } from "./sales-load.js";
import { nodeCommand, withService } from "./service.js";
import { StripeSales } from "./stripe-sales.js";
import { type Tenant, createTenant, webhookRequest } from "./tenant.js";

const webhooksPerSecond = 40;
const secondsOfKind = 8;
/** The readers of one kind leave nothing under way for the next. */
const restMs = 2_000;
const connectionsMax = 256;

/** @param from the first day of the series */
function questions(from: string): readonly string[] {
  const days = `interval=day&from=${from}`;
  const weeks = `interval=week&from=${from}`;
  const movements = "/v1/metrics/mrr/movements";
  const revenue = "/v1/metrics/revenue";
  return [
    `${movements}?${days}`,
    ...["kind", "provider", "product", "country", "currency"].map(
      (group) => `${movements}?${days}&group_by=${group}`,
    ),
    `${movements}?${days}&group_by=provider&format=csv`,
    `${movements}?${days}&group_by=provider&format=parquet`,
    `${movements}?${weeks}&group_by=product`,
    `${revenue}?${days}&group_by=provider`,
    `${revenue}?${weeks}&group_by=product`,
    `/v1/metrics/summary?${days}`,
    "/v1/metrics/cohorts?gross=true",
    "/v1/metrics/cohorts?basis=accounts",
    "/v1/metrics/mrr",
    "/v1/products?period=lifetime&limit=200",
    "/v1/transactions?limit=200",
    "/v1/transactions?format=ndjson",
    "/v1/accounts?limit=200",
    "/v1/mrr-movements?limit=200",
  ];
}

export function readers({ rows, profileFolder }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const read = await withService(folder, nodeCommand(), tenantWithSales);
    await fillTables(join(folder, "clickhouse"), read.workspace, rows);
    return withService(folder, nodeCommand(profileFolder), async ({ base, adminToken, pid }) => {
      const written = await createTenant({ base, adminToken });
      // The first webhooks of a process are slower than the next.
      await webhookTimes(base, written, "warm-up");
      const loopBefore = mainThreadMs(pid);
      const alone = await webhookTimes(base, written, "alone");
      const loopMs = (mainThreadMs(pid) - loopBefore) / secondsOfKind;
      console.log(
        `  ${"nobody reads".padEnd(66)}  ${spread(alone)}, event loop ${Math.round(loopMs / 10)} %`,
      );
      const figures: Figure[] = [];
      for (const path of questions(dayText(Date.now() - years * yearMs))) {
        const [startedAt, loopAt] = [performance.now(), mainThreadMs(pid)];
        const words = [base.href, read.authorization, path];
        const times = await withChild("readers-load", words, () =>
          webhookTimes(base, written, path),
        );
        const loop = Math.round(
          (100 * (mainThreadMs(pid) - loopAt)) / (performance.now() - startedAt),
        );
        console.log(`  ${path.padEnd(66)}  ${spread(times)}, event loop ${loop} %`);
        for (const [name, share, valueMax] of [
          ["p50", 0.5, 20],
          ["p99", 0.99, 100],
        ] as const) {
          figures.push({
            name: `webhooks beside ${path}, ${name}`,
            value: percentile(times, share),
            floor: percentile(alone, share),
            unit: "ms",
            target: { valueMax },
          });
        }
        await pause(restMs);
      }
      return figures;
    });
  });
}

function dayText(at: number): string {
  return new Date(at).toISOString().slice(0, "2026-01-31".length);
}

/** @returns ms from sending to the 2xx, of webhooks at an even pace */
async function webhookTimes(base: URL, tenant: Tenant, name: string): Promise<number[]> {
  const sales = new StripeSales(name);
  const pool = new ConnectionPool(base, connectionsMax);
  const times: number[] = [];
  const queue = sales.next(Date.now());
  const calls: Promise<void>[] = [];
  const timed = async (sent: Promise<Answer>, sentAt: number): Promise<void> => {
    const { status } = await sent;
    if (status !== 200) throw new Error(`refused: ${status}`);
    times.push(performance.now() - sentAt);
  };
  await sendEvenly(webhooksPerSecond, webhooksPerSecond * secondsOfKind, () => {
    if (queue.length === 0) queue.push(...sales.next(Date.now()));
    const event = queue.shift();
    if (event === undefined) throw new Error("a sale is reported by several events");
    const sentAt = performance.now();
    const sent = pool.send(webhookRequest(tenant.webhookPath, event.body));
    calls.push(timed(sent, sentAt));
  });
  await Promise.all(calls);
  pool.close();
  return times;
}
