/** A version of a transaction as the public topic carries it. */
import type { Skus } from "../../../catalogue/skus.js";
import { transactionId } from "../../../schemas/ids.js";
import type { TransactionRecord } from "../../../schemas/records/records.js";
import type { Version } from "../payment/payment-versions.js";
import type { KnownPayment } from "./known-payment.js";

export async function transactionRecord(
  skus: Skus,
  { workspace, environment, provider, payment }: KnownPayment,
  { document, version, fact }: Version,
): Promise<TransactionRecord> {
  return {
    ...document,
    id: transactionId(workspace, environment, provider, payment),
    version,
    workspace,
    environment,
    provider,
    product_name: await skus.productName({
      workspace,
      environment,
      provider,
      externalId: document.external_id,
    }),
    recorded_at: fact.received_at,
    event_id: fact.event_id,
    backfill: fact.backfill,
  };
}
