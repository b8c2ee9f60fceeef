/**
 * Webhooks of one workspace while twelve connections of another's key ask the heaviest questions
 * the interface has, one kind after the other: a reader must not slow the doors of others.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Figure, latencies, type Options, spread } from "./figures.js";
import { withFilled, yearMs, years } from "./fill.js";
import { withChild } from "./processes.js";
import { sendSales } from "./traffic.js";
import { createTenant } from "./tenant.js";

const webhooksPerSecond = 40;
const secondsOfKind = 8;
const maxMs = { p50: 20, p99: 100 };
/** The readers of one kind leave nothing under way for the next. */
const restMs = 2_000;

/** @param from the first day of the series */
function questions(from: string): readonly string[] {
  const days = `interval=day&from=${from}`;
  return [
    `/v1/metrics/mrr/movements?${days}`,
    `/v1/metrics/revenue?${days}&group_by=provider`,
    "/v1/metrics/cohorts?gross=true",
    "/v1/transactions?format=ndjson",
  ];
}

export function readers({ rows, profileFolder }: Options): Promise<Figure[]> {
  return withFilled(rows, profileFolder, async ({ base, adminToken }, read) => {
    const written = await createTenant({ base, adminToken });
    const webhooks = (name: string) =>
      sendSales(base, written, webhooksPerSecond, webhooksPerSecond * secondsOfKind, name);
    // The first webhooks of a process are slower than the next.
    await webhooks("warm-up");
    const alone = await webhooks("alone");
    console.log(`  ${"nobody reads".padEnd(66)}  ${spread(alone)}`);
    const figures: Figure[] = [];
    for (const path of questions(dayText(Date.now() - years * yearMs))) {
      const words = [base.href, `Bearer ${read.key}`, path];
      const times = await withChild("readers-load", words, () => webhooks(path));
      console.log(`  ${path.padEnd(66)}  ${spread(times)}`);
      figures.push(...latencies(`webhooks beside ${path}`, times, maxMs, alone));
      await pause(restMs);
    }
    return figures;
  });
}

function dayText(at: number): string {
  return new Date(at).toISOString().slice(0, "2026-01-31".length);
}
