/**
 * One case of the proof: a random portfolio, delivered in random order with repeats, booked by one
 * or several processes that crash, fail and stall; then every figure is the reference model's, the
 * audit is clean, and the public topics report all of it. And once more after a replay.
 */
import * as fc from "fast-check";
import { AssertionError } from "chai";
import type { LmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import type { Service } from "../../service.js";
import { createProviders } from "../../providers/index.js";
import { audit } from "../../processors/audit/audit.js";
import { topics } from "../../schemas/records/records.js";
import { openSkus } from "../../workspaces/catalogue/skus.js";
import { enrichingOver } from "../harness/enriching.js";
import { expectChanges } from "../model/compare/compare-explanations.js";
import { expectFigures } from "../model/compare/compare.js";
import { withAnswersInBodies } from "../model/compare/google-answers.js";
import type { ModelEvent } from "../model/facts.js";
import { figuresOf } from "../model/figures.js";
import { number } from "../model/readers/json.js";
import { type Endpoint, openMerchant } from "../model/merchant.js";
import { type Portfolio, portfolios } from "../model/stories/portfolio.js";
import { dayMs, secondMs, type Sent } from "../model/stories/story.js";
import { faultKinds } from "./faults.js";
import { faultPlaces, Pipeline, type Plan, type Stores, type Tally } from "./pipeline.js";
import { expectPublished, placesOf } from "./expect-published.js";
import { takeAtEndpoint } from "./raw-records.js";

export interface Case {
  readonly portfolio: Portfolio;
  readonly plan: Plan;
  /** ms by which receipts differ from the order on the log, again and again. */
  readonly jitters: readonly number[];
  /** Which groups go back to the beginning when all is booked. */
  readonly replay: "none" | "raw" | "facts";
}

/** What a long run saw. */
export interface Seen extends Tally {
  portfolios: number;
  events: number;
  replays: number;
}

export function nothingSeen(): Seen {
  const tally: Tally = { batches: 0, crashes: 0, failures: 0, stalls: 0 };
  return { ...tally, portfolios: 0, events: 0, replays: 0 };
}

const faults = fc.record({
  place: fc.constantFrom(...faultPlaces),
  kind: fc.constantFrom(...faultKinds),
  call: fc.nat(12),
  wakes: fc.constantFrom("soon" as const, "late" as const),
});

const plans = fc.record({
  processes: fc.constantFrom(1 as const, 1 as const, 2 as const, 3 as const),
  stay: fc.constantFrom(1, 1, 2, 10, 1_000),
  losses: fc.nat(20),
  batches: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 }),
  faults: fc.array(faults, { maxLength: 12 }),
});

/** Of the cases that are proved: the last second of yesterday. */
export const endOfYesterday = Math.floor(Date.now() / dayMs) * dayMs - secondMs;

/** @param end ms since 1970: nothing is dated later */
export function casesUntil(end: number): fc.Arbitrary<Case> {
  return fc.record({
    portfolio: portfolios(end),
    plan: plans,
    jitters: fc.array(fc.nat(40), { minLength: 1, maxLength: 8 }),
    replay: fc.constantFrom("none" as const, "raw" as const, "facts" as const),
  });
}

export interface Bench {
  readonly service: Service;
  readonly endpoint: Endpoint;
  /** A log of the proof's own; the service's consumers know nothing of it. */
  readonly log: LmdbLog;
  readonly seen: Seen;
}

/** @throws AssertionError when a figure is not the model's, or the audit finds a difference */
export async function prove(bench: Bench, drawn: Case): Promise<void> {
  const { service, endpoint, log, seen } = bench;
  const { portfolio, plan, replay } = drawn;
  const { base, deliveries } = portfolio;
  const merchant = await openMerchant(endpoint, base);
  const looked = await service.keys.look(merchant.key);
  if (!looked.ok) throw new Error(looked.code);
  const { access } = looked;
  const publishedBefore = await placesOf(log);
  const pipeline = await Pipeline.open(storesOf(service, log, plan), plan, seen);
  const atEndpoint = { service, providers: createProviders(service.config), access };
  // In the past, so that the answers are complete up to them; each half lasts longer than jitters.
  const halfMs = 10 * secondMs;
  const began = Date.now() - 3 * halfMs;
  const knownAt = began + halfMs;
  const take = async (events: readonly Sent[], from: number): Promise<ModelEvent[]> => {
    const calls = events.map((sent, index) => {
      const jitter = drawn.jitters[index % drawn.jitters.length] ?? 0;
      return takeAtEndpoint(
        atEndpoint,
        sent,
        from + jitter + Math.floor((index * 5_000) / events.length),
      );
    });
    const taken = await Promise.all(calls);
    await log.append(
      topics.raw,
      taken.flatMap(({ record }) => record ?? []),
    );
    return taken.map(({ event }) => event);
  };
  const half = Math.floor(deliveries.length / 2);
  const early = await take(deliveries.slice(0, half), began);
  await pipeline.drain();
  const late = await take(deliveries.slice(half), knownAt + 1);
  await pipeline.drain();
  const all = [...early, ...late];
  const now = figuresOf(all, base);
  const then = figuresOf(early, base, now.names);
  const known = new Date(knownAt).toISOString();
  const check = async () => {
    await expectFigures(merchant, now, endOfYesterday + secondMs);
    await expectFigures(merchant, then, endOfYesterday + secondMs, known, ["lifetime"]);
    await expectChanges(merchant, then, now, endOfYesterday + secondMs, known);
    await expectClean(service, access.workspace);
  };
  await check();
  await expectPublished(service, log, publishedBefore, access.workspace);
  for (const moment of momentsOf(all)) {
    await expectFigures(merchant, now, moment, null, ["3m"]);
    await expectFigures(merchant, then, moment, known, ["12m"]);
    await expectChanges(merchant, then, now, moment, known);
  }
  for (const receipt of receiptsOf(all)) {
    const until = all.filter(({ receivedAt }) => receivedAt <= receipt);
    const figures = figuresOf(until, base, now.names);
    const reading = new Date(receipt).toISOString();
    await expectFigures(merchant, figures, endOfYesterday + secondMs, reading, ["30d"]);
  }
  await checkAgain(pipeline, replay, check, seen);
  seen.portfolios += 1;
  seen.events += all.length;
}

/** Whatever holds also holds after a replay, where one was drawn. */
export async function checkAgain(
  pipeline: Pipeline,
  replay: Case["replay"],
  check: () => Promise<void>,
  seen: Seen,
): Promise<void> {
  if (replay === "none") return;
  await pipeline.replay(replay);
  await check();
  seen.replays += 1;
}

function storesOf(service: Service, log: LmdbLog, { processes }: Plan): Stores {
  const shared = { ...log, shared: processes > 1 };
  // Without credentials the APIs answer nothing, and events are booked as they stand.
  const providers = withAnswersInBodies(createProviders(service.config));
  return {
    log: shared,
    open: async () => ({
      normalizing: await enrichingOver({ ...service, log: shared }, { providers }),
      booking: { ...service, log: shared, skus: openSkus(service.postgres), state: log.state },
    }),
  };
}

async function expectClean(service: Service, workspace: string): Promise<void> {
  const findings = await audit(service, { workspace, repair: false, shareMax: 1 });
  const wrong = findings.filter(({ differences }) => differences > 0);
  if (wrong.length > 0) throw new AssertionError(`audit: ${JSON.stringify(wrong)}`);
}

/** Of events that may have been booked together with later ones. */
function receiptsOf(events: readonly ModelEvent[]): number[] {
  return [0.3, 0.7].flatMap((part) => {
    const event = events[Math.floor(events.length * part)];
    return event === undefined ? [] : [event.receivedAt];
  });
}

/** When something happened, and the last moment of the month before. */
function momentsOf(events: readonly ModelEvent[]): number[] {
  const times = events
    .flatMap(({ body }) => number(body, "created") ?? [])
    .map((time) => time * secondMs)
    .sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)] ?? endOfYesterday;
  const date = new Date(times[Math.floor(times.length * 0.9)] ?? endOfYesterday);
  return [middle, Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - 1];
}
