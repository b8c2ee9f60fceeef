/**
 * Keeps the customers that events name (workspaces/customers/customers.ts). No figure depends on
 * them, so a failure here holds up nothing.
 */
import { isStoreAway } from "../../stores/store-away.js";
import type { NormalizingService } from "./normalizing-service.js";
import type { Outcome } from "./outcome.js";

/**
 * May be repeated: what is known is not written again.
 * @throws PostgresUnavailable, and the batch is tried again
 */
export async function keepCustomers(
  { customers, logger }: Pick<NormalizingService, "customers" | "logger">,
  outcomes: readonly Outcome[],
): Promise<void> {
  const told = outcomes.flatMap((outcome) => ("customers" in outcome ? outcome.customers : []));
  try {
    await customers.keep(told);
  } catch (error) {
    if (isStoreAway(error)) throw error;
    // Our own mistake: it costs a name, and no booking. The message may quote what was written.
    const { name, code } = Object(error);
    logger.error({ error: name, code, customers: told.length }, "customers were not kept");
  }
}
