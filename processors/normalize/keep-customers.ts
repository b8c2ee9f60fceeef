/**
 * Keeps the customers that events name (workspaces/customers/customers.ts). No figure depends on
 * them, so a failure here holds up nothing.
 */
import { isStoreAway } from "../../stores/store-away.js";
import type { NormalizingService } from "./normalizing-service.js";
import type { Outcome } from "./outcome.js";

/**
 * May be repeated.
 * @throws PostgresUnavailable, and the batch is tried again
 */
export async function keepCustomers(
  { customers, logger }: Pick<NormalizingService, "customers" | "logger">,
  outcomes: readonly Outcome[],
): Promise<void> {
  const reported = outcomes.flatMap((outcome) => ("customers" in outcome ? outcome.customers : []));
  try {
    await customers.keep(reported);
  } catch (error) {
    if (isStoreAway(error)) throw error;
    // Our own mistake costs a name, not a booking. The message may quote personal data, so it is
    // left out.
    const { name, code } = Object(error);
    logger.error({ error: name, code, customers: reported.length }, "customers were not kept");
  }
}
