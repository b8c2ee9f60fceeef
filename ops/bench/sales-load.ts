/** Sales at an even pace through the webhook endpoint. */
import { ConnectionPool } from "./http-connection.js";
import { sendEvenly } from "./load.js";
import type { RunningService } from "./service.js";
import { StripeSales } from "./stripe-sales.js";
import { createTenant, settled, type Tenant, webhookRequest } from "./tenant.js";

const connectionsMax = 256;

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
  service: Pick<RunningService, "base">,
  tenant: Tenant,
  perSecond: number,
  count: number,
  name = "sales",
): Promise<number[]> {
  const sales = new StripeSales(name);
  const queue = sales.products(Date.now());
  const pool = new ConnectionPool(service.base, connectionsMax);
  const call = async (request: Buffer): Promise<number> => {
    const sentAt = performance.now();
    const { status } = await pool.send(request);
    if (status !== 200) throw new Error(`refused: ${status}`);
    return performance.now() - sentAt;
  };
  const calls: Promise<number>[] = [];
  await sendEvenly(perSecond, count, () => {
    if (queue.length === 0) queue.push(...sales.next(Date.now()));
    const event = queue.shift();
    if (event === undefined) throw new Error("a sale is reported by several events");
    calls.push(call(webhookRequest(tenant.webhookPath, event.body)));
  });
  const ended = await Promise.allSettled(calls);
  pool.close();
  return ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
