/**
 * Adorns what is booked already with what the provider's API adds: names of products, fees. It
 * holds up nothing: what it adds is received when it is answered, and facts that say the same as
 * those booked are left out.
 */
import { keepAnswers, type KeptAnswers, recallAnswers } from "../backends/kept-answers.js";
import type { LogRecord } from "../backends/log.js";
import type { Receipt } from "../backends/watermark.js";
import { type Fact, factCodec } from "../schemas/records.js";
import { ask, type EnrichingService, rawRecords } from "./enrich-complete.js";
import { parsedAnswers } from "./enrich-questions.js";
import { handOnFacts, handOnRejects } from "./hand-on.js";
import { conclude, openRaw, type Opened, type Rejected } from "./read-raw.js";

export async function adornEvents(
  service: EnrichingService,
  records: readonly LogRecord[],
): Promise<void> {
  const receipts: Receipt[] = [];
  try {
    // 1. Ask; the answers and the time they were received at are durable before they are used.
    const raws = rawRecords(records, "adorn");
    const adorned = await allEnded(raws.map((record) => adornEvent(service, record, receipts)));

    // 2. Hand on. What could not be had is listed, although the event is booked, and replayed.
    await handOnFacts(
      service,
      adorned.flatMap(({ facts }) => facts),
    );
    await handOnRejects(
      service,
      adorned.flatMap(({ rejected }) => rejected ?? []),
    );
  } finally {
    // 3. Now figures may be final past the time the answers were received.
    for (const receipt of receipts) receipt.settle();
  }
}

/** Like Promise.all, but a failure waits for the others: none may take a receipt after it. */
async function allEnded<T>(running: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(running);
  return Promise.all(running);
}

interface Adorned {
  readonly facts: readonly Fact[];
  readonly rejected: Rejected | null;
}

const nothing: Adorned = { facts: [], rejected: null };

async function adornEvent(
  service: EnrichingService,
  record: LogRecord,
  receipts: Receipt[],
): Promise<Adorned> {
  const opened = await openRaw(service, record);
  if (opened.kind === "rejected") return nothing;
  const { postgres, vault } = service;
  const { event } = opened;
  const completing = await recallAnswers(postgres, vault, event, "complete");
  const booked = completing?.answers ?? new Map<string, string | null>();
  let kept = await recallAnswers(postgres, vault, event, "adorn");
  if (kept === null) {
    const answered = await ask(service, opened, "adorns", booked);
    const receipt = service.watermark.receive();
    receipts.push(receipt);
    const concluded = answered.trouble === null;
    kept = { ...answered, answeredAt: receipt.receivedAt, concluded };
    await keepAnswers(postgres, vault, event, "adorn", kept);
  }
  const facts = await factsAdded(service, opened, booked, kept);
  return { facts, rejected: kept.trouble === null ? null : rejectedOf(opened, kept) };
}

/** Facts that say something else than those booked, under ids of their own. */
async function factsAdded(
  service: EnrichingService,
  opened: Opened,
  booked: ReadonlyMap<string, string | null>,
  { answers, answeredAt }: KeptAnswers,
): Promise<Fact[]> {
  const before = await conclude(service, opened, parsedAnswers(booked));
  const after = await conclude(service, opened, parsedAnswers(answers));
  if (before.kind !== "facts" || after.kind !== "facts") return [];
  const said = new Set(before.facts.map(sayingOf));
  const adorned = after.facts.map((fact, position) => ({
    ...fact,
    fact_id: `${fact.event_id}:adorned:${position}`,
    received_at: answeredAt,
  }));
  return adorned.filter((_fact, position) => {
    const told = after.facts[position];
    return told !== undefined && !said.has(sayingOf(told));
  });
}

function sayingOf(fact: Fact): string {
  return factCodec.toText({ ...fact, fact_id: "" });
}

/** Received anew, so that it is newer than the replay it may come from. */
function rejectedOf({ record, event }: Opened, { trouble, answeredAt }: KeptAnswers): Rejected {
  return {
    kind: "rejected",
    record,
    event: { ...event, received_at: answeredAt },
    step: "adorn",
    reason: "enrichment_unavailable",
    detail: `Booked, but the API of ${event.provider} could not be asked for more: ${trouble}.`,
  };
}
