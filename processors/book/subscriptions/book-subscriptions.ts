/**
 * Books what subscriptions are worth: changes, countries, unidentified pairs, MRR movements. Apart
 * from money, which people wait for. The steps below are the whole of it; each may be repeated at
 * any time.
 */
import { fromClickhouseTime } from "../../../clickhouse/rows.js";
import type { LogRecord } from "../../../log/log.js";
import { movementCodec, topics } from "../../../schemas/records/records.js";
import type { AccountSizes } from "./account-quota.js";
import { pairChurns } from "./unidentified-churn.js";
import type { BookingService } from "../money/book-money.js";
import { insertChanges, subscriptionChange } from "./changes.js";
import { countryChange, newCountries } from "./countries.js";
import { readFacts, skusOf } from "../fact-batch.js";
import { mapInTurns } from "../../yield-to-event-loop.js";
import { movementRecords, recordMovements, type TouchedAccount } from "./movements.js";
import type { Side } from "./pairing.js";
import { recordRejects, type RejectedEvent } from "../../rejects/record-reject.js";
import { bookTransfers } from "./transfers.js";

/** @param service `accountSizes` is left out where others write, too */
export async function bookSubscriptions(
  service: BookingService & { readonly accountSizes?: AccountSizes | null },
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Read the facts of this batch that are about subscriptions.
  const batch = await readFacts(records, "subscriptions");
  if (batch.length === 0) return;

  // 2. SKUs get their places in the catalogue.
  await service.skus.see(
    batch.flatMap((fact) => {
      const steps = "Subscription" in fact.body ? fact.body.Subscription.steps : [];
      return steps.flatMap(({ items }) => skusOf(fact, items));
    }),
  );

  // 3. Insert the changes that are not there yet, where their accounts have room.
  const reported = (await mapInTurns(batch, subscriptionChange)).filter((row) => row !== null);
  const placed = (await mapInTurns(batch, countryChange)).filter((row) => row !== null);
  const countries = await newCountries(service.clickhouse, placed);
  const { accountSizes = null } = service;
  const wanted = [...reported, ...countries];
  const beyond = new Set(await insertChanges(service.clickhouse, wanted, accountSizes));
  const changes = reported.filter((change) => !beyond.has(change));

  // 4. Pair unidentified churns with the subscriptions they end; end what went to another account:
  //    these ends are changes too.
  const ended = await pairChurns(service.clickhouse, batch, accountSizes);
  const moved = await bookTransfers(service.clickhouse, changes, accountSizes);

  // 5. List what there was no room for, and bring the movements of every touched account to what
  //    they should be.
  const left = new Set([...beyond, ...moved.refused].map(({ change_id: id }) => id));
  await recordRejects(service, [
    ...batch.filter(({ fact_id: id }) => left.has(id)).map((fact) => tooLarge(fact, fact)),
    ...ended.refused.map(endTooLarge),
  ]);
  const located = countries.filter((row) => !beyond.has(row));
  const touched = touchedAccounts([...changes, ...ended.touched, ...moved.ended, ...located]);
  if (touched.length === 0) return;
  const shared = service.log.shared || service.clickhouse.isShared;
  const recorded = await recordMovements(service.clickhouse, touched, shared);

  // 6. Publish what is recorded under this batch's events and later ones. After a crash before the
  //    acknowledgement this repeats, with the same ids.
  const messages = movementRecords(recorded, batch);
  if (messages.length > 0) {
    await service.log.append(
      topics.movements,
      messages.map((movement) => ({
        key: `${movement.workspace}/${movement.environment}/${movement.account}`,
        value: movementCodec.encode(movement),
      })),
    );
  }
  service.booked?.("mrr", batch);

  // 7. Acknowledge: the consumer moves the offset when this resolves.
}

/** The side that made the end may be of an earlier batch. */
function endTooLarge(side: Side): RejectedEvent {
  const { partition, offset, recorded_at: recordedAt } = side;
  const event = { received_at: fromClickhouseTime(recordedAt), ...side };
  return tooLarge({ partition, offset: BigInt(offset) }, event);
}

/** What it says of money is booked. */
function tooLarge(
  { partition, offset }: RejectedEvent["record"],
  event: RejectedEvent["event"],
): RejectedEvent {
  return {
    record: { partition, offset },
    event,
    step: "book",
    reason: "account_too_large",
    detail: "Its account has as many changes of subscriptions, by their items, as one may have.",
  };
}

/** Each account once, with the event that touched it first. */
function touchedAccounts(changes: readonly TouchedAccount[]): TouchedAccount[] {
  const first = new Map<string, TouchedAccount>();
  for (const { workspace, environment, account, recorded_at, event_id } of changes) {
    const key = JSON.stringify([workspace, environment, account]);
    const known = first.get(key);
    const isFirst =
      known === undefined ||
      recorded_at < known.recorded_at ||
      (recorded_at === known.recorded_at && event_id < known.event_id);
    if (isFirst) first.set(key, { workspace, environment, account, recorded_at, event_id });
  }
  return [...first.values()];
}
