/** Events of every kind, for tests of what becomes of a whole installation, and what it answers. */
import { expect } from "chai";
import * as fc from "fast-check";
import { midnight } from "../../harness/days.js";
import type { Clocks } from "../compare/answers.js";
import { expectFigures } from "../compare/compare.js";
import type { ModelEvent } from "../facts.js";
import { figuresOf } from "../figures.js";
import { type Merchant, sentByWebhook } from "../merchant.js";
import { portfolios } from "./portfolio.js";
import { secondMs, type Sent } from "./story.js";

/** Nothing is dated later: the last second of yesterday. */
export const end = midnight() - secondMs;

/**
 * The largest of many, so that every provider and kind of event is there and a load lasts; the same
 * in each run, unless another seed is given.
 */
export function largestPortfolio(seed = 20_261_121): readonly Sent[] {
  const drawn = fc.sample(portfolios(end), { numRuns: 30, seed });
  const reported = drawn.map(({ deliveries }) => sentByWebhook(deliveries));
  const [largest = []] = reported.sort((one, other) => other.length - one.length);
  expect(largest).to.have.lengthOf.above(20);
  return largest;
}

/** At the end of it: as it is known now, and as it was known at a moment. */
export function clocksOf(knownAt: string): readonly Clocks[] {
  const at = new Date(end).toISOString();
  return [{ at }, { at, known_at: knownAt }];
}

/** Every figure of what was sent. */
export async function expectModel(merchant: Merchant, sent: readonly ModelEvent[]): Promise<void> {
  await expectFigures(merchant, figuresOf(sent, merchant.baseCurrency), end + secondMs);
}
