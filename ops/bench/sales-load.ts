/** Sales at an even pace through the webhook endpoint. */
import { ConnectionPool } from "./http-connection.js";
import { Run } from "./latency-run.js";
import type { RunningService } from "./service.js";
import { createTenant, settled, type Tenant } from "./tenant.js";

/** Enough that every SKU has a product in the catalogue. */
const firstSales = 200;
const firstSalesPerSecond = 100;

/** A tenant with some sales booked, beside which its tables can be filled. */
export async function tenantWithSales(service: RunningService): Promise<Tenant> {
  const tenant = await createTenant(service);
  await sendSales(service, tenant, firstSalesPerSecond, firstSales);
  await settled(service, tenant);
  return tenant;
}

/**
 * Resolves when `count` webhooks were taken, with ms from sending each to its 2xx.
 * @param name keeps these apart from what others send
 * @throws when one is not, or answers do not keep up
 */
export async function sendSales(
  { base }: Pick<RunningService, "base">,
  tenant: Tenant,
  perSecond: number,
  count: number,
  name = "sales",
): Promise<readonly number[]> {
  const pool = new ConnectionPool(base);
  const run = new Run({ webhooks: pool, readers: pool, tenant }, perSecond, name, { probes: 0 });
  await run.send(count / perSecond);
  const answered = await run.answered();
  pool.close();
  return answered;
}
