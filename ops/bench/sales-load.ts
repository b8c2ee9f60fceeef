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
 * Resolves when `count` webhooks were taken.
 * @param name keeps these apart from what others send
 * @throws when one is not, or answers do not keep up
 */
export async function sendSales(
  service: Pick<RunningService, "base">,
  tenant: Tenant,
  perSecond: number,
  count: number,
  name = "sales",
): Promise<void> {
  const sales = new StripeSales(name);
  const queue = sales.products(Date.now());
  const pool = new ConnectionPool(service.base, connectionsMax);
  const refusals: unknown[] = [];
  const calls: Promise<void>[] = [];
  await sendEvenly(perSecond, count, () => {
    if (queue.length === 0) queue.push(...sales.next(Date.now()));
    const event = queue.shift();
    if (event === undefined) throw new Error("a sale is reported by several events");
    const request = webhookRequest(tenant.webhookPath, event.body);
    calls.push(
      pool.send(request).then(
        ({ status }) => void (status === 200 || refusals.push(new Error(`refused: ${status}`))),
        (error: unknown) => void refusals.push(error),
      ),
    );
  });
  await Promise.all(calls);
  pool.close();
  if (refusals.length > 0) throw refusals[0];
}
