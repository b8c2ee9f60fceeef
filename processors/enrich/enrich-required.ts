/**
 * Completes events that cannot be decoded without an answer of their provider's API. Several run at
 * a time, each for `enrichmentMsMax` at most. An event without an answer by then becomes a reject,
 * replayed when the API answers again.
 */
import { withDeadline } from "../../runtime/deadline.js";
import type { Service } from "../../service.js";
import { incompleteRecords, topics } from "../../schemas/records/records.js";
import type { StoredAnswers } from "../../providers/api/stored-answers.js";
import type { LogRecord } from "../../stores/log/log.js";
import { TryLater } from "../../stores/store-away.js";
import { type Answered, askAll, parsedAnswers } from "./questions.js";
import { publishOutcomes } from "../normalize/normalize.js";
import {
  insertRawEvents,
  rawEventRow,
  type NormalizingService,
  type Opened,
  type Outcome,
} from "../normalize/outcome.js";
import { conclude, openRaw } from "../normalize/read-raw.js";

const enrichmentMsMax = 30_000;

export type EnrichingService = NormalizingService &
  Pick<Service, "integrations" | "watermark"> & {
    readonly stopping: AbortSignal;
    readonly storedAnswers: StoredAnswers;
    /** Called when this provider's API answered all questions for an event of this workspace. */
    readonly answered: (workspace: string, provider: string) => void;
  };

export async function completeEvents(
  service: EnrichingService,
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Ask and decode; the answers are durable before they are used. A slow API delays only its own
  // events.
  const raws = rawRecords(records, "complete");
  for await (const outcomes of groupsAsCompleted(completions(service, raws))) {
    // 2. Publish, as normalizing does.
    await publishOutcomes(service, outcomes);

    // 3. Record the outcomes; the journal has left these events out.
    const rows = outcomes.map(rawEventRow).filter((row) => row !== null);
    await insertRawEvents(service.clickhouse, rows);
  }
}

/**
 * Repeats of an event wait for its first delivery, whose receipt counts: published earlier, they
 * would be booked with a later receipt.
 */
function completions(service: EnrichingService, records: readonly LogRecord[]): Promise<Outcome>[] {
  const newest = new Map<LogRecord["key"], Promise<Outcome>>();
  return records.map((record) => {
    const before = newest.get(record.key);
    const completing =
      before === undefined
        ? completeEvent(service, record)
        : before.then(() => completeEvent(service, record));
    newest.set(record.key, completing);
    return completing;
  });
}

/** The raw records of one step, as they are on the raw topic. */
export function rawRecords(
  records: readonly LogRecord[],
  step: "complete" | "enrich",
): LogRecord[] {
  return records.flatMap(({ key, value }) => {
    const incomplete = incompleteRecords.decode(value);
    if (incomplete.step !== step) return [];
    const { partition, offset, raw } = incomplete;
    return [{ topic: topics.raw, partition, offset, key, value: raw }];
  });
}

async function completeEvent(service: EnrichingService, record: LogRecord): Promise<Outcome> {
  const opened = await openRaw(service, record);
  if (opened.kind === "rejected") return opened;
  const { event } = opened;
  const kept = await service.storedAnswers.recall(event, "complete");
  const answered = kept ?? (await ask(service, opened, "required", new Map()));
  const outcome = await outcomeOf(service, opened, answered);
  if (kept === null) {
    const concluded = outcome.kind !== "rejected";
    const answeredAt = Date.now();
    const keeping = { ...answered, answeredAt, concluded, published: true };
    await service.storedAnswers.keep(event, "complete", keeping);
  }
  return outcome;
}

async function outcomeOf(
  service: EnrichingService,
  opened: Opened,
  { answers, trouble, refusal }: Answered,
): Promise<Outcome> {
  const { record, event } = opened;
  if (trouble === null && refusal === null) {
    return conclude(service, opened, parsedAnswers(answers));
  }
  const detail = `The API of ${event.provider} must be asked: ${trouble ?? refusal}.`;
  const reason = trouble === null ? "enrichment_refused" : "enrichment_unavailable";
  return { kind: "rejected", record, event, step: "complete", reason, detail };
}

/** @throws when the process stops: the batch is asked again after the next start */
export async function ask(
  service: EnrichingService,
  opened: Opened,
  importance: "required" | "optional",
  given: ReadonlyMap<string, string | null>,
): Promise<Answered> {
  const { provider, event } = opened;
  if (provider === null) return { answers: given, trouble: null, refusal: null };
  const found =
    event.integration === null ? null : await service.integrations.byId(event.integration);
  const integration = found && { id: found.id, credentials: found.credentials[0] };
  const asker = { provider, integration };
  const answered = await service.apis.inTurn(asker, () =>
    withDeadline(enrichmentMsMax, service.stopping, (signal) =>
      askAll(service, asker, opened, importance, given, signal),
    ),
  );
  if (service.stopping.aborted) throw new TryLater("stopped while asking a provider's API");
  const isAnswered = answered.trouble === null && answered.answers.size > given.size;
  if (isAnswered) service.answered(event.workspace, event.provider);
  return answered;
}

/**
 * Yields results of concurrent work in groups as it ends, so that none waits for the slowest.
 * @throws the first failure, once all have ended and what succeeded was taken
 */
export async function* groupsAsCompleted<T>(
  works: readonly Promise<T>[],
): AsyncGenerator<readonly T[]> {
  const ended: PromiseSettledResult<T>[] = [];
  let wake = (): void => undefined;
  const watch = async (work: Promise<T>): Promise<void> => {
    ended.push(...(await Promise.allSettled([work])));
    wake();
  };
  for (const work of works) void watch(work);
  const failures: unknown[] = [];
  for (let taken = 0; taken < works.length;) {
    if (ended.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const group = ended.splice(0);
    taken += group.length;
    const values: T[] = [];
    for (const result of group) {
      if (result.status === "fulfilled") values.push(result.value);
      else failures.push(result.reason);
    }
    if (values.length > 0) yield values;
  }
  if (failures.length > 0) throw failures[0];
}
