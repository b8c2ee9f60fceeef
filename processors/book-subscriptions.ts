/**
 * Books what subscriptions are worth: changes, anonymous pairs, MRR movements. Apart from money,
 * because working out movements takes the engine longer than a payment may wait (see
 * docs/decisions). The steps below are the whole of it; each may be repeated at any time.
 */
import type { LogRecord } from "../backends/log.js";
import { type Fact, movementCodec, topics } from "../schemas/records.js";
import { bookAnonymous } from "./anonymous.js";
import type { BookingService } from "./book-money.js";
import { insertChanges, subscriptionChange } from "./changes.js";
import { readFacts } from "./fact-batch.js";
import { mapInTurns } from "./give-way.js";
import { insertDifferences, recordedMovements, type TouchedAccount } from "./movements.js";

export async function bookSubscriptions(
  service: BookingService,
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Read the facts of this batch that are about subscriptions.
  const batch = await readFacts(records, "subscriptions");
  if (batch.length === 0) return;

  // 2. SKUs get their places in the catalogue.
  await service.skus.see(batch.flatMap(skusSold));

  // 3. Insert the changes that are not there yet.
  const changes = (await mapInTurns(batch, subscriptionChange)).filter((row) => row !== null);
  await insertChanges(service.clickhouse, changes);

  // 4. Pair anonymous churns with the subscriptions they end; their ends are changes too.
  const ended = await bookAnonymous(service.clickhouse, batch);

  // 5. Bring the movements of every touched account to what they should be.
  const changed = [...changes, ...ended];
  if (changed.length === 0) return;
  await insertDifferences(service.clickhouse, touchedAccounts(changed));

  // 6. Publish what is recorded under this batch's events. After a crash before the
  //    acknowledgement this repeats, with the same ids; another delivery of an event has a
  //    receipt time of its own, under which nothing is recorded.
  const messages = await recordedMovements(service.clickhouse, changed, batch);
  if (messages.length > 0) {
    await service.log.append(
      topics.movements,
      messages.map((movement) => ({
        key: `${movement.workspace}/${movement.environment}/${movement.account}`,
        value: movementCodec.encode(movement),
      })),
    );
  }

  // 7. Acknowledge: the consumer moves the offset when this resolves.
}

function skusSold({ workspace, environment, provider, body }: Fact) {
  if (!("Subscription" in body)) return [];
  const ids = body.Subscription.steps.flatMap(({ items }) => items.map((item) => item.external_id));
  return [...new Set(ids)]
    .filter((externalId) => externalId !== "")
    .map((externalId) => ({ workspace, environment, provider, externalId }));
}

/** Each account once, with the newest event that touched it. */
function touchedAccounts(changes: readonly TouchedAccount[]): TouchedAccount[] {
  const newest = new Map<string, TouchedAccount>();
  for (const { workspace, environment, account, recorded_at, event_id } of changes) {
    const key = JSON.stringify([workspace, environment, account]);
    const known = newest.get(key);
    if (known === undefined || known.recorded_at < recorded_at) {
      newest.set(key, { workspace, environment, account, recorded_at, event_id });
    }
  }
  return [...newest.values()];
}
