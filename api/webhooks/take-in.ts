/**
 * The group `webhooks`: makes deliveries of published messages. It waits for no receiver; send.ts
 * sends them. A record that is read again makes the same deliveries.
 */
import { limits } from "../../config.js";
import { Pace } from "../../runtime/pace.js";
import { topics } from "../../schemas/records/records.js";
import type { Service } from "../../service.js";
import type { LogRecord } from "../../stores/log/log.js";
import { groups } from "../../stores/watermark/watermark.js";
import type { CatalogueView } from "../../workspaces/catalogue/view.js";
import { putIn } from "../../workspaces/webhooks/announce.js";
import { activeEndpoints, messageBody } from "../../workspaces/webhooks/deliveries.js";
import { isWanted } from "../../workspaces/webhooks/wanted.js";
import { readEvent } from "./events.js";

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
