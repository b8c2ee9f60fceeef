/** Events that endpoints may want, from records of the log, in the JSON of the interface. */
import type { z } from "zod";
import type { Catalogue, CatalogueView } from "../../workspaces/catalogue/view.js";
import type { announced } from "../../schemas/http/outbound/webhooks.js";
import { webhookMessageId } from "../../schemas/ids.js";
import {
  type MovementRecord,
  type Reject,
  type TransactionRecord,
  movementCodec,
  rejectCodec,
  topics,
  transactionCodec,
} from "../../schemas/records/records.js";
import type { LogRecord } from "../../stores/log/log.js";
import type { HappenedEvent } from "../../workspaces/webhooks/wanted.js";
import { presentMovementRecord } from "../recorded-movements/presenter.js";
import { presentTransactionRecord } from "../transactions/presenter.js";

export interface LoggedEvent extends HappenedEvent {
  /** `webhook-id` */
  readonly message: string;
  /** Events of one lane are sent one after another. */
  readonly lane: string;
  data(): unknown;
}

/** @returns null for what is not sent: a provider's history */
export async function readEvent(
  { topic, value }: LogRecord,
  catalogues: CatalogueView,
): Promise<LoggedEvent | null> {
  if (topic === topics.rejected) return ofReject(rejectCodec.decode(value));
  const record =
    topic === topics.movements ? movementCodec.decode(value) : transactionCodec.decode(value);
  if (record.backfill) return null;
  const catalogue = await catalogues.of(record.workspace, record.environment);
  return "version" in record ? ofTransaction(record, catalogue) : ofMovement(record, catalogue);
}

function ofTransaction(record: TransactionRecord, catalogue: Catalogue): LoggedEvent {
  const { workspace, environment, id, version, account, provider } = record;
  const product = catalogue.productOf({ provider, externalId: record.external_id });
  return {
    workspace,
    environment,
    type: record.first ? "transaction.recorded" : "transaction.updated",
    subject: {
      provider,
      product: product.id,
      currency: record.original_currency,
      country: record.customer_country,
      account,
    },
    at: new Date(record.recorded_at),
    message: webhookMessageId("transaction", id, version.toString()),
    // A guest has no account.
    lane: account === "" ? id : account,
    data: () => ({
      ...presentTransactionRecord(record, product),
      event_id: record.event_id,
    }),
  };
}

function ofMovement(record: MovementRecord, catalogue: Catalogue): LoggedEvent {
  const { workspace, environment, id, account, provider, currency, country } = record;
  const product = catalogue.productOf({ provider, externalId: record.external_id });
  return {
    workspace,
    environment,
    type: "mrr.movement",
    subject: { provider, product: product.id, currency, country, account },
    at: new Date(record.recorded_at),
    message: webhookMessageId("movement", id),
    lane: account,
    data: () => presentMovementRecord(record, catalogue),
  };
}

/** The same event refused again for the same reason is the same message. */
function ofReject(reject: Reject): LoggedEvent {
  const { workspace, environment, event_id, provider, native_type, step, reason, detail } = reject;
  const at = new Date(reject.received_at);
  const received_at = at.toISOString();
  const data = { event_id, provider, native_type, step, reason, detail, received_at };
  return {
    workspace,
    environment,
    type: "reject.opened",
    subject: { provider },
    at,
    message: webhookMessageId("reject", event_id, step, reason),
    lane: "reject.opened",
    data: (): z.output<(typeof announced)["reject.opened"]> => data,
  };
}
