/**
 * This service beside tables of one's own in Postgres: the same rows and questions on one machine
 * in one run, and what is booked of the same webhooks. This service answers over HTTP, Postgres
 * directly, which costs it less.
 */
import { join } from "node:path";
import { aligned } from "../../aligned.js";
import { type Figure, median, type Options, short } from "../figures.js";
import { fillTables, yearMs, years } from "../fill.js";
import type { Call } from "../http-client.js";
import { sendClosedLoop } from "../load.js";
import { portMessage, withChild, withFolder } from "../processes.js";
import { askerOf, cursorAfter, timesOf } from "../queries.js";
import { tenantWithSales } from "../traffic.js";
import { nodeCommand, withNewService, withService } from "../service.js";
import { StripeSales } from "../stripe-sales.js";
import { createTenant, settled, webhookCall } from "../tenant.js";
import { questionsAt } from "./questions.js";
import { withPostgres } from "./tables.js";

const writing = { seconds: 10, senders: 64 };
/** More than anyone takes in that time. */
const requestsMax = 60_000;

export function postgres({ rows }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), tenantWithSales);
    await fillTables(join(folder, "clickhouse"), tenant.workspace, rows);
    const now = Date.now();
    const halfWay = now - (years / 2) * yearMs;
    const questions = questionsAt(now, halfWay, tenant.workspace);
    const here = await withService(folder, nodeCommand(), async ({ base }) => {
      const ask = askerOf(base, tenant);
      const cursor = await cursorAfter(ask, new Date(halfWay).toISOString());
      const medians: number[] = [];
      for (const { path } of questions) {
        medians.push(await medianOf(() => ask(path ?? `/v1/transactions?cursor=${cursor}`)));
      }
      return medians;
    });
    const [there, booksThere] = await withPostgres(folder, tenant.workspace, async (ask, url) => {
      const medians: number[] = [];
      for (const { sql } of questions) medians.push(await medianOf(() => ask(sql)));
      return [medians, await booksNaively(url)];
    });
    const shown = (ms = Number.NaN) => `${short(ms)} ms`;
    const lines = questions.map(({ name }, at) => [name, shown(here[at]), shown(there[at])]);
    console.log(`\n${aligned([["p50", "this service", "Postgres"], ...lines])}\n`);
    return [await books(booksThere)];
  });
}

async function medianOf(ask: () => Promise<unknown>): Promise<number> {
  return median((await timesOf(ask)).valuesMs);
}

/** @returns webhooks a second */
function booksNaively(url: string): Promise<number> {
  return withChild("naive-consumer", [url], (message) =>
    sendClosedLoop(
      new URL(`http://127.0.0.1:${portMessage.parse(message).port}`),
      requestsTo("/"),
      writing,
    ),
  );
}

function books(naivePerSecond: number): Promise<Figure> {
  return withNewService(null, async (service) => {
    const tenant = await createTenant(service);
    const startedAt = performance.now();
    const requests = requestsTo(tenant.webhookPath);
    const taken = await sendClosedLoop(service.base, requests, writing);
    const takenMs = performance.now() - startedAt;
    await settled(service, tenant);
    return {
      name: "webhooks booked, with all figures, beside one row each in Postgres",
      value: (taken * takenMs) / (performance.now() - startedAt),
      unit: "/s",
      floor: naivePerSecond,
      target: { ratioMin: 1 },
    };
  });
}

function requestsTo(path: string): Call[] {
  const sales = new StripeSales("naive");
  const now = Date.now();
  const requests: Call[] = [];
  while (requests.length < requestsMax) {
    requests.push(...sales.next(now).map(({ body }) => webhookCall(path, body)));
  }
  return requests;
}
