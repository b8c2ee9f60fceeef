/**
 * The group `webhooks`: makes deliveries of published messages. It waits for no receiver; send.ts
 * sends them. A record that is read again makes the same deliveries.
 */
import { limits } from "../../config.js";
import { Pace } from "../../runtime/pace.js";
import {
  movementCodec,
  type MovementRecord,
  type Reject,
  rejectCodec,
  topics,
  transactionCodec,
  type TransactionRecord,
} from "../../schemas/records/records.js";
import type { Service } from "../../service.js";
import type { LogRecord } from "../../stores/log/log.js";
import { groups } from "../../stores/watermark/watermark.js";
import type { Catalogue, CatalogueView } from "../../workspaces/catalogue/view.js";
import { putIn } from "../../workspaces/webhooks/announce.js";
import { activeEndpoints, messageBody } from "../../workspaces/webhooks/deliveries.js";
import { type HappenedEvent, isWanted } from "../../workspaces/webhooks/wanted.js";
import type { z } from "zod";
import type { announced } from "../../schemas/http/outbound/webhooks.js";
import { webhookMessageId } from "../../schemas/ids.js";
import { presentMovementRecord } from "../recorded-movements/presenter.js";
import { presentTransactionRecord } from "../transactions/presenter.js";

/**
 * A batch costs the stores much the same for one record as for many, the more so where nobody has
 * an endpoint.
 */
const paceOptions = { shareMax: 1 / 100, restMsMax: 250 };

export function takeIn(service: Service, catalogues: CatalogueView): void {
  const { log, logger, metrics, releases } = service;
  const pace = new Pace(paceOptions);
  for (const topic of [topics.transactions, topics.movements, topics.rejected]) {
    const consumer = log.consume({
      topic,
      group: groups.webhooks,
      batchRecordsMax: limits.webhookBatchRecordsMax,
      pace,
      handle: (records) => handle(service, catalogues, records),
      passOver: async ({ partition, offset }, error) => {
        metrics.internalErrors.inc({ group: groups.webhooks });
        const where = { topic, partition, offset: offset.toString() };
        logger.error({ err: error, ...where }, "webhooks of a record could not be made");
      },
    });
    releases.push(`webhooks of ${topic}`, () => consumer.close());
  }
}

async function handle(
  service: Service,
  catalogues: CatalogueView,
  records: readonly LogRecord[],
): Promise<void> {
  const { postgres } = service;
  // Most installations have none.
  const any = "SELECT 1 FROM webhook_endpoints WHERE disabled_at IS NULL LIMIT 1";
  if ((await postgres.query(any)).length === 0) return;
  const read = await Promise.all(records.map((record) => readEvent(record, catalogues)));
  // Deliveries of older records may be forgotten, and would be made a second time.
  const since = new Date(Date.now() - limits.webhookDeliveriesKeptMs);
  const events = read.filter((event) => event !== null).filter(({ at }) => at >= since);
  const workspaces = [...new Set(events.map(({ workspace }) => workspace))];
  const accounts = events.flatMap(({ subject }) => subject.account ?? []);
  const endpoints = await activeEndpoints(postgres, workspaces, accounts);
  const deliveries = events.flatMap((event) => {
    const wanting = endpoints.filter((endpoint) => isWanted(endpoint, event));
    if (wanting.length === 0) return [];
    const { message, type, lane } = event;
    const body = messageBody(event, type, event.data());
    return wanting.map(({ id: endpoint }) => ({ endpoint, message, type, lane, body }));
  });
  await putIn(service, endpoints, deliveries);
}

interface LoggedEvent extends HappenedEvent {
  /** `webhook-id` */
  readonly message: string;
  /** Events of one lane are sent one after another. */
  readonly lane: string;
  data(): unknown;
}

/** @returns null for what is not sent: a provider's history */
async function readEvent(
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
