/** The four answers over HTTP on large tables, each against a full scan for the same sums. */
import { join } from "node:path";
import { type Figure, median, spread } from "./figures.js";
import { type Scans, fillTables } from "./fill.js";
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

const paths: readonly (readonly [scan: keyof Scans, path: string])[] = [
  ["mrr", "/v1/metrics/mrr"],
  ["cohorts", "/v1/metrics/cohorts"],
  ["products", "/v1/products"],
  ["transactions", "/v1/transactions"],
];

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
      for (const [scan, path] of paths) {
        const valuesMs = await timesOf(connection, path, tenant);
        console.log(`  ${path.padEnd(20)}  ${spread(valuesMs)}`);
        const name = `GET ${path}, ${rows.toLocaleString("en")} rows`;
        figures.push({ name, value: median(valuesMs), unit: "ms", floor: scans[scan] });
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
