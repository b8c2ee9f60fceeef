/** The workspaces of a run and the events they will be reported, drawn from the seed. */
import * as fc from "fast-check";
import { type Endpoint, type Merchant, openMerchant, sentByWebhook } from "../model/merchant.js";
import { end } from "../model/stories/largest-portfolio.js";
import { portfolios } from "../model/stories/portfolio.js";
import { recordPlans, emitRecords } from "../model/stories/record-story.js";
import { Script, type Sent } from "../model/stories/story.js";

/** One workspace: what is sent to it, and what of that was acknowledged. */
export interface Workspace {
  readonly name: string;
  readonly merchant: Merchant;
  readonly events: readonly Sent[];
  /** The service's id of the event → what was sent under it. */
  readonly acknowledged: Map<string, Sent>;
}

/** Customers of nearly every provider, some hundreds of events. */
const reported = { minLength: 25, maxLength: 35 };
const portfoliosAtOnce = 10;
const crowdPlans = 700;

/** @param eventsMin all of them together have so many events */
export async function openWorkspaces(
  endpoint: Endpoint,
  seed: number,
  eventsMin: number,
): Promise<Workspace[]> {
  const opened: Workspace[] = [];
  let count = 0;
  for (let turn = 0; count < eventsMin; turn += 1) {
    const options = { seed: seed * 1_000 + turn, numRuns: portfoliosAtOnce };
    for (const { base, deliveries } of fc.sample(portfolios(end, reported), options)) {
      if (count >= eventsMin) break;
      const events = sentByWebhook(deliveries);
      count += events.length;
      opened.push(await openWorkspace(endpoint, `workspace ${opened.length + 1}`, base, events));
    }
  }
  return opened;
}

/** Those whose events come all at once; records only, which may come in batches. */
export async function openCrowds(
  endpoint: Endpoint,
  seed: number,
  count: number,
): Promise<Workspace[]> {
  const opened: Workspace[] = [];
  for (let turn = 1; turn <= count; turn += 1) {
    const plans = fc.sample(recordPlans, { seed: seed * 1_000 + turn, numRuns: crowdPlans });
    const script = new Script(end);
    for (const [index, plan] of plans.entries()) emitRecords(script, plan, index);
    opened.push(await openWorkspace(endpoint, `crowd ${turn}`, "EUR", script.sent));
  }
  return opened;
}

async function openWorkspace(
  endpoint: Endpoint,
  name: string,
  base: string,
  events: readonly Sent[],
): Promise<Workspace> {
  const merchant = await openMerchant(endpoint, base);
  // Now, while all is well: making an integration cannot be repeated as sending an event can.
  for (const { source } of events) {
    if (source !== "record") await merchant.pathOf(source);
  }
  return { name, merchant, events, acknowledged: new Map() };
}
