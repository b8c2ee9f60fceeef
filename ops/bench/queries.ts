/**
 * The four answers over HTTP on large tables of ten years: figures of now and of the past, and
 * pages of transactions with each filter, passed by most rows, by a few or by none, with several
 * filters, and far back.
 */
import { z } from "zod";
import { below, type Figure, median, type Options, short, spread } from "./figures.js";
import {
  absentCountry,
  rareCountry,
  rareSku,
  subscribersCurrency,
  usualSku,
  withFilled,
  yearMs,
  years,
} from "./fill.js";
import { HttpClient } from "./http-client.js";
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
  return withFilled(rows, profileFolder, async ({ base }, tenant) => {
    const ask = askerOf(base, tenant);
    const figures: Figure[] = [];
    const now = Date.now();
    const halfWay = await cursorAfter(ask, agoText(now)(0.5));
    const questions = [
      ...figureQuestions(now),
      ...pageQuestions(now, await productsBySku(ask), halfWay),
    ];
    for (const { path, name = path, msMax } of questions) {
      const { firstMs, valuesMs } = await timesOf(() => ask(path));
      console.log(`  ${name.padEnd(60)}  first ${short(firstMs)} ms, then ${spread(valuesMs)}`);
      figures.push(below(msMax, `GET ${name}`, median(valuesMs)));
    }
    return figures;
  });
}

/** Of a slow answer there are fewer calls: none begins later. */
const callsMsMax = 10_000;

export async function timesOf(
  ask: () => Promise<unknown>,
): Promise<{ firstMs: number; valuesMs: number[] }> {
  const timesMs: number[] = [];
  const begunAt = performance.now();
  while (timesMs.length < callsUncounted + calls) {
    const startedAt = performance.now();
    const isEnough = timesMs.length > callsUncounted && startedAt > begunAt + callsMsMax;
    if (isEnough) break;
    await ask();
    timesMs.push(performance.now() - startedAt);
  }
  return { firstMs: timesMs[0] ?? Number.NaN, valuesMs: timesMs.slice(callsUncounted) };
}

/** Asks for a path; an answer other than 200 is an error. */
export type Asker = (path: string) => Promise<Buffer>;

export function askerOf(base: URL, { key }: Tenant): Asker {
  const client = new HttpClient(base);
  return async (path) => {
    const { status, body } = await client.send({
      path,
      headers: { authorization: `Bearer ${key}` },
    });
    if (status !== 200) throw new Error(`${path}: ${status} ${body.toString()}`);
    return body;
  };
}

async function productsBySku(ask: Asker): Promise<ReadonlyMap<string, string>> {
  const body = await ask("/v1/products?period=lifetime&limit=200");
  const { data } = productsAnswer.parse(JSON.parse(body.toString()));
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
export async function cursorAfter(ask: Asker, to: string): Promise<string> {
  const page = await ask(`/v1/transactions?to=${to}`);
  return pageAnswer.parse(JSON.parse(page.toString())).pagination.next_cursor;
}

const pageAnswer = z.object({ pagination: z.object({ next_cursor: z.string() }) });
