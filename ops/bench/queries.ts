/**
 * The four answers over HTTP on large tables of ten years: figures of now and of the past, and
 * pages of transactions with each filter, passed by most rows, by a few or by none, with several
 * filters, and far back.
 */
import { join } from "node:path";
import { z } from "zod";
import { below, type Figure, median, short, spread } from "./figures.js";
import {
  absentCountry,
  fillTables,
  rareCountry,
  rareSku,
  subscribersCurrency,
  usualSku,
  yearMs,
  years,
} from "./fill.js";
import { HttpConnection, requestBytes } from "./http-connection.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { tenantWithSales } from "./sales-load.js";
import { nodeCommand, withService } from "./service.js";
import type { Tenant } from "./tenant.js";

const callsUncounted = 5;
/** All of them, of a fast machine within a minute, are fewer than a key may make. */
const calls = 50;

interface Question {
  readonly path: string;
  /** Where the path would report nothing. */
  readonly name?: string;
  readonly msMax: number;
}

/** @param now ms since 1970 */
function figureQuestions(now: number): readonly Question[] {
  const ago = agoText(now);
  return [
    { path: "/v1/metrics/mrr", msMax: 15 },
    { path: `/v1/metrics/mrr?at=${ago(0.5)}`, msMax: 15 },
    // Of the rows filled in none is late: what is asked is whether there are any.
    { path: `/v1/metrics/mrr?known_at=${ago(1 / (years * 365))}`, msMax: 500 },
    { path: "/v1/metrics/cohorts", msMax: 40 },
    { path: "/v1/products?period=lifetime", msMax: 40 },
    { path: "/v1/products?period=30d", msMax: 40 },
  ];
}

/** @param productOf its id, by the SKU at Stripe */
function pageQuestions(
  now: number,
  productOf: ReadonlyMap<string, string>,
  halfWayCursor: string,
): readonly Question[] {
  const ago = agoText(now);
  const usual = `product=${productOf.get(usualSku)}`;
  const rare = `product=${productOf.get(rareSku)}`;
  const filters = [
    "limit=50",
    "limit=200",
    "provider=stripe",
    "provider=paddle",
    "provider=google",
    "status=succeeded",
    "status=refunded",
    "status=disputed",
    "type=subscription",
    "type=one_time",
    "type=refund",
    "currency=EUR",
    `currency=${subscribersCurrency}`,
    "country=DE",
    `country=${rareCountry}`,
    `country=${absentCountry}`,
    usual,
    rare,
    `type=one_time&currency=${subscribersCurrency}`,
    "country=DE&status=disputed",
    `country=${rareCountry}&status=refunded`,
    `provider=stripe&status=refunded&type=one_time&currency=EUR&country=DE&${usual}`,
    `from=${ago(0.5)}&to=${ago(0.4)}`,
    `to=${ago(0.5)}`,
    `to=${ago(0.95)}&country=DE`,
    `to=${ago(0.5)}&country=DE&status=disputed`,
  ];
  const pages = { msMax: 20 };
  return [
    ...filters.map((query): Question => {
      const path = `/v1/transactions?${query}`;
      const name = path.replace(usual, "product=<usual>").replace(rare, "product=<rare>");
      return { path, name, ...pages };
    }),
    {
      path: `/v1/transactions?cursor=${halfWayCursor}`,
      name: "/v1/transactions?cursor=… half way",
      ...pages,
    },
  ];
}

/** @returns the moment that part of all the years ago, ISO 8601 */
function agoText(now: number): (part: number) => string {
  return (part) => new Date(now - part * years * yearMs).toISOString();
}

export function queries({ rows, profileFolder }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), tenantWithSales);
    // The engine opens a path once per process, so the service is down meanwhile.
    await fillTables(join(folder, "clickhouse"), tenant.workspace, rows);
    return withService(folder, nodeCommand(profileFolder), async (service) => {
      const connection = await HttpConnection.open(service.base);
      const figures: Figure[] = [];
      const now = Date.now();
      const questions = [
        ...figureQuestions(now),
        ...pageQuestions(
          now,
          await productsBySku(connection, tenant),
          await cursorAfter(connection, tenant, agoText(now)(0.5)),
        ),
      ];
      for (const { path, name = path, msMax } of questions) {
        const { firstMs, valuesMs } = await timesOf(connection, path, tenant);
        console.log(`  ${name.padEnd(60)}  first ${short(firstMs)} ms, then ${spread(valuesMs)}`);
        figures.push(below(msMax, `GET ${name}`, median(valuesMs)));
      }
      connection.close();
      return figures;
    });
  });
}

export async function timesOf(
  connection: HttpConnection,
  path: string,
  tenant: Tenant,
): Promise<{ firstMs: number; valuesMs: number[] }> {
  const timesMs: number[] = [];
  for (let call = 0; call < callsUncounted + calls; call += 1) {
    const startedAt = performance.now();
    await get(connection, path, tenant);
    timesMs.push(performance.now() - startedAt);
  }
  return { firstMs: timesMs[0] ?? Number.NaN, valuesMs: timesMs.slice(callsUncounted) };
}

async function productsBySku(
  connection: HttpConnection,
  tenant: Tenant,
): Promise<ReadonlyMap<string, string>> {
  const products = "/v1/products?period=lifetime&limit=200";
  const { data } = productsAnswer.parse(
    JSON.parse((await get(connection, products, tenant)).toString()),
  );
  return new Map(
    data.flatMap(({ id, providers }) => providers.map(({ external_id: sku }) => [sku, id])),
  );
}

const productsAnswer = z.object({
  data: z.array(
    z.object({ id: z.string(), providers: z.array(z.object({ external_id: z.string() })) }),
  ),
});

/** @returns the cursor of the second page of what happened before then */
export async function cursorAfter(
  connection: HttpConnection,
  tenant: Tenant,
  to: string,
): Promise<string> {
  const page = await get(connection, `/v1/transactions?to=${to}`, tenant);
  return pageAnswer.parse(JSON.parse(page.toString())).pagination.next_cursor;
}

const pageAnswer = z.object({ pagination: z.object({ next_cursor: z.string() }) });

async function get(connection: HttpConnection, path: string, { key }: Tenant): Promise<Buffer> {
  const request = requestBytes("GET", path, { Authorization: `Bearer ${key}` });
  const { status, body } = await connection.send(request);
  if (status !== 200) throw new Error(`${path}: ${status} ${body.toString()}`);
  return body;
}
