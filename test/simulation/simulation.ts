/**
 * The proof (pipeline/proof.ts) over stores in memory, in a world whose time and chance are drawn.
 * About a thousand portfolios a minute, each the same whenever its seed is run again. What
 * statements make of the tables is not part of it.
 */
import * as fc from "fast-check";
import { topics } from "../../schemas/records/records.js";
import type { ModelEvent } from "../model/facts.js";
import { figuresOf } from "../model/figures.js";
import { dayMs, secondMs, type Sent } from "../model/stories/story.js";
import { expectMessages, messagesSince, placesOf } from "../pipeline/expect-published.js";
import { Pipeline } from "../pipeline/pipeline.js";
import { type Case, casesUntil, checkAgain, type Seen } from "../pipeline/proof.js";
import { takeAtEndpoint } from "../pipeline/raw-records.js";
import { expectTables, newestVersions } from "./expect-tables.js";
import { Outside } from "./open.js";
import { enter, World } from "./world.js";

/** Nothing is dated later. */
const end = Date.UTC(2026, 5, 30) - secondMs;

export interface Simulated {
  readonly drawn: Case;
  /** Of what happens first where several things can. */
  readonly chance: number;
}

export const simulations: fc.Arbitrary<Simulated> = fc.record({
  drawn: casesUntil(end),
  chance: fc.nat(),
});

/** @throws AssertionError when a table or a topic does not hold what the model says */
export async function simulate({ drawn, chance }: Simulated, seen: Seen): Promise<void> {
  const world = new World(String(chance), end + dayMs);
  enter(world);
  await world.run(() => prove(world, drawn, seen));
}

async function prove(world: World, { portfolio, plan, jitters, replay }: Case, seen: Seen) {
  const { base, deliveries } = portfolio;
  const outside = new Outside(world, base, plan.processes > 1);
  const { endpoint, log, tables } = outside;
  const nowhere = await placesOf(log);
  const pipeline = await Pipeline.open({ log, open: () => outside.open() }, plan, seen);
  /** Of an event the first on the topic counts, which here is the first received, too. */
  const receipts = new Map<string, number>();
  const take = async (events: readonly Sent[]): Promise<ModelEvent[]> => {
    const taken: ModelEvent[] = [];
    for (const [index, sent] of events.entries()) {
      const drawn = world.now + (jitters[index % jitters.length] ?? 0) + index;
      const receivedAt = Math.max(drawn, receipts.get(sent.id) ?? 0);
      receipts.set(sent.id, receivedAt);
      const { record, event } = await takeAtEndpoint(endpoint, sent, receivedAt);
      if (record !== null) await log.append(topics.raw, [record]);
      taken.push(event);
    }
    return taken;
  };
  const half = Math.floor(deliveries.length / 2);
  const early = await take(deliveries.slice(0, half));
  await pipeline.drain();
  const knownAt = Math.max(world.now, ...early.map(({ receivedAt }) => receivedAt));
  world.now = knownAt + 1;
  const late = await take(deliveries.slice(half));
  await pipeline.drain();
  const all = [...early, ...late];
  const now = figuresOf(all, base);
  const then = figuresOf(early, base, now.names);
  const check = async () => {
    expectTables(tables, now, base);
    expectTables(tables, then, base, knownAt);
    const movements = tables.all("mrr_movements").filter(({ mrr }) => Number(mrr) !== 0);
    const versions = newestVersions(tables.all("transactions"));
    expectMessages(await messagesSince(log, nowhere), movements, versions);
  };
  await check();
  await checkAgain(pipeline, replay, check, seen);
  seen.portfolios += 1;
  seen.events += all.length;
}
