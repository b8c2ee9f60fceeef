/** Events of every kind, for tests of what becomes of a whole installation. */
import { expect } from "chai";
import * as fc from "fast-check";
import { sentByWebhook } from "../merchant.js";
import { portfolios } from "./portfolio.js";
import type { Sent } from "./story.js";

/**
 * The largest of many, so that every provider and kind of event is there and a load lasts; the same
 * in each run, unless another seed is given.
 * @param end ms since 1970, by which all has happened
 */
export function largestPortfolio(end: number, seed = 20_261_121): readonly Sent[] {
  const drawn = fc.sample(portfolios(end), { numRuns: 30, seed });
  const reported = drawn.map(({ deliveries }) => sentByWebhook(deliveries));
  const [largest = []] = reported.sort((one, other) => other.length - one.length);
  expect(largest).to.have.lengthOf.above(20);
  return largest;
}
