/**
 * The four answers over HTTP on large tables of ten years, each against a full scan for the same
 * sums: pages of transactions with filters that most rows pass, a few, or none, and far back.
 */
import { join } from "node:path";
import { type Figure, median, spread } from "./figures.js";
import { type Scans, fillTables, rareCountry, years } from "./fill.js";
import { HttpConnection, requestBytes } from "./http-connection.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";
import { sendSales } from "./sales-load.js";
import { nodeCommand, withService } from "./service.js";
import { type Tenant, createTenant, settled } from "./tenant.js";

const callsUncounted = 5;
const calls = 100;
/** Enough webhooks that every SKU has a product in the catalogue. */
const webhooks = 200;
const webhooksPerSecond = 100;

const yearMs = 365 * 24 * 60 * 60 * 1000;

/** @param now ms since 1970 */
function questions(now: number): readonly Question[] {
  const ago = (part: number): string => new Date(now - part * years * yearMs).toISOString();
  const pages = [
    "limit=50",
    "limit=200",
    "provider=stripe",
    "status=succeeded",
    "type=subscription",
    "currency=EUR",
    "country=DE",
    `country=${rareCountry}`,
    "country=MT",
    "status=refunded",
    "type=one_time",
    `to=${ago(0.5)}`,
    `to=${ago(0.95)}&country=DE`,
    `from=${ago(0.5)}&to=${ago(0.4)}`,
  ];
  return [
    { path: "/v1/metrics/mrr", scan: "mrr", msMax: 15 },
    { path: `/v1/metrics/mrr?at=${ago(0.5)}`, scan: "mrr", msMax: 15 },
    { path: "/v1/metrics/cohorts", scan: "cohorts", msMax: 40 },
    { path: "/v1/products?period=lifetime", scan: "products", msMax: 40 },
    { path: "/v1/products?period=30d", scan: "products", msMax: 40 },
    ...pages.map((query): Question => ({
      path: `/v1/transactions?${query}`,
      scan: "transactions",
      msMax: 20,
    })),
  ];
}

interface Question {
  readonly path: string;
  readonly scan: keyof Scans;
  readonly msMax: number;
}

export function queries({ rows, profileFolder }: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), async (service) => {
      const made = await createTenant(service);
      await sendSales(service, made, webhooksPerSecond, webhooks);
      await settled(service, made);
      return made;
    });
    // The engine opens a path once per process, so the service is down meanwhile.
    const scans = await fillTables(join(folder, "clickhouse"), tenant.workspace, rows);
    return withService(folder, nodeCommand(profileFolder), async (service) => {
      const connection = await HttpConnection.open(service.base);
      const figures: Figure[] = [];
      for (const { path, scan, msMax } of questions(Date.now())) {
        const valuesMs = await timesOf(connection, path, tenant);
        console.log(`  ${path.padEnd(60)}  ${spread(valuesMs)}`);
        figures.push({
          name: `GET ${path}`,
          value: median(valuesMs),
          unit: "ms",
          floor: scans[scan],
          target: { valueMax: msMax },
        });
      }
      connection.close();
      return figures;
    });
  });
}

async function timesOf(
  connection: HttpConnection,
  path: string,
  { authorization }: Tenant,
): Promise<number[]> {
  const request = requestBytes("GET", path, { Authorization: authorization });
  const valuesMs: number[] = [];
  for (let call = 0; call < callsUncounted + calls; call += 1) {
    const startedAt = performance.now();
    const { status, body } = await connection.send(request);
    if (status !== 200) throw new Error(`${path}: ${status} ${body.toString()}`);
    if (call >= callsUncounted) valuesMs.push(performance.now() - startedAt);
  }
  return valuesMs;
}
