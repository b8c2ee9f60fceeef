/**
 * Adds optional data of the provider's API to booked events, such as product names and fees. It
 * delays nothing: what it adds counts as received when the API answered, and facts equal to the
 * booked ones are left out.
 */
import { settledAfter } from "../../stores/watermark/in-flight-receipts.js";
import type { KeptAnswers } from "../../providers/api/stored-answers.js";
import type { LogRecord } from "../../stores/log/log.js";
import { enrichedFactId } from "../../schemas/ids.js";
import { type Environment, type Fact, factCodec } from "../../schemas/records/records.js";
import { ask, type EnrichingService, rawRecords } from "./enrich-required.js";
import { type Answered, parsedAnswers, answeredForAll } from "./questions.js";
import { publishFacts, publishRejects } from "../normalize/normalize.js";
import { conclude, openRaw } from "../normalize/read-raw.js";
import type { Opened, Rejected } from "../normalize/outcome.js";

type Answers = ReadonlyMap<string, string | null>;

export async function enrichOptional(
  service: EnrichingService,
  records: readonly LogRecord[],
): Promise<void> {
  const raws = rawRecords(records, "enrich");
  await Promise.all(raws.map((record) => enrichOptionalEvent(service, record)));
}

async function enrichOptionalEvent(service: EnrichingService, record: LogRecord): Promise<void> {
  const opened = await openRaw(service, record);
  if (opened.kind === "rejected") return;
  const { event } = opened;
  const [completing, kept] = await Promise.all([
    service.storedAnswers.recall(event, "complete"),
    service.storedAnswers.recall(event, "enrich"),
  ]);
  const booked: Answers = completing?.answers ?? new Map();
  if (kept?.published === true) return publishAdded(service, opened, booked, kept);
  const answered = kept ?? (await ask(service, opened, "optional", booked));
  if (kept === null && saysNothing(answered, booked)) return;
  await receive(service, opened, booked, answered);
}

/** Nobody can be asked, or nothing is left to ask: the booked facts stay as they are. */
function saysNothing({ answers, trouble, refusal }: Answered, booked: Answers): boolean {
  return trouble === null && refusal === null && answers.size === booked.size;
}

/**
 * Until it is published, no figure at or after its receipt time is final. If publishing fails,
 * figures may become final, so the next attempt gets a new receipt time.
 */
async function receive(
  service: EnrichingService,
  opened: Opened,
  booked: Answers,
  answered: Answered,
): Promise<void> {
  const { storedAnswers, watermark } = service;
  const receipt = watermark.receive(opened.event.workspace);
  await settledAfter(receipt, async () => {
    // 1. The answers and the time they were received at are durable before they are used.
    const { receivedAt: answeredAt } = receipt;
    const concluded = answered.trouble === null;
    const kept = { ...answered, answeredAt, concluded, published: false };
    watermark.check(answeredAt);
    await storedAnswers.keep(opened.event, "enrich", kept);

    // 2. Publish. After a crash it is repeated with a later time, which booking leaves out.
    await publishAdded(service, opened, booked, kept);
    await storedAnswers.markPublished(opened.event, "enrich");
  });
}

/** Missing answers are listed as a reject, although the event is booked, and replayed. */
async function publishAdded(
  service: EnrichingService,
  opened: Opened,
  booked: Answers,
  kept: KeptAnswers,
): Promise<void> {
  const { facts, environment } = await added(service, opened, booked, kept);
  await publishFacts(service, facts);
  if (environment !== null) {
    const { integration } = opened.event;
    for (const question of answeredForAll(opened, parsedAnswers(kept.answers))) {
      service.reported.keep({ integration, environment }, question);
    }
  }
  await publishRejects(service, kept.trouble === null ? [] : [rejectedOf(opened, kept)]);
}

interface Added {
  readonly facts: readonly Fact[];
  /** Null: nothing of the event can be read. */
  readonly environment: Environment | null;
}

/** Facts that differ from the booked ones, under ids of their own. */
async function added(
  service: EnrichingService,
  opened: Opened,
  booked: Answers,
  { answers, answeredAt }: KeptAnswers,
): Promise<Added> {
  const before = await conclude(service, opened, parsedAnswers(booked));
  const after = await conclude(service, opened, parsedAnswers(answers));
  if (before.kind !== "facts" || after.kind !== "facts") {
    return { facts: [], environment: null };
  }
  const said = new Set(before.facts.map(sayingOf));
  const enriched = after.facts.map((fact, position) => ({
    ...fact,
    fact_id: enrichedFactId(fact.event_id, position, contentOf(fact)),
    received_at: answeredAt,
  }));
  const facts = enriched.filter((_fact, position) => {
    const reported = after.facts[position];
    return reported !== undefined && !said.has(sayingOf(reported));
  });
  return { facts, environment: after.facts[0]?.environment ?? null };
}

function sayingOf(fact: Fact): string {
  return factCodec.toText({ ...fact, fact_id: "" });
}

/** Without what a replay of the event changes. */
function contentOf(fact: Fact): string {
  return sayingOf({ ...fact, partition: 0, offset: 0n, received_at: 0, quote: null });
}

/** Received anew, so that it is newer than the replay it may come from. */
function rejectedOf({ record, event }: Opened, { trouble, answeredAt }: KeptAnswers): Rejected {
  return {
    kind: "rejected",
    record,
    event: { ...event, received_at: answeredAt },
    step: "enrich",
    reason: "enrichment_unavailable",
    detail: `Booked, but the API of ${event.provider} could not be asked for more: ${trouble}.`,
  };
}
