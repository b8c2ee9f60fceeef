/**
 * MRR by brute force: every subscription as a list of states, every question answered by walking
 * all of them (`definitions.md`, MRR).
 */
import { exponentOf, type Unidentified, type Change, type Fact, type Phase } from "./facts.js";
import { type Fraction, isEqual, rounded, tenTo, times, zero } from "./fraction.js";
import { quote } from "./quotes.js";
import { grouped } from "./compare/showing.js";

/** What one subscription is worth from `at` on; amounts in millionths of the base currency. */
interface State {
  readonly at: number;
  readonly items: readonly Worth[];
}

export interface Worth {
  readonly sku: string;
  readonly currency: string;
  readonly country: string;
  readonly micros: bigint;
}

export interface Timeline {
  readonly account: string;
  readonly provider: string;
  readonly subscription: string;
  readonly states: readonly State[];
}

export function timelinesOf(facts: readonly Fact[], base: string): Timeline[] {
  const changes = [...facts.filter(isChange), ...churnsOfPairs(facts)];
  const subscriptions = grouped(changes, (change) => `${change.provider} ${change.subscription}`);
  const countries = countriesOf(facts);
  return [...subscriptions.values()].flatMap((reported) => {
    const winners = winnersOf(reported);
    const accounts = new Set(reported.map(({ account }) => account));
    return [...accounts].map((account) => {
      const provider = reported[0]?.provider ?? "";
      const name = `${provider} ${account}`;
      const country = countries.get(name) ?? "ZZ";
      const states = statesOf(asSeenBy(account, winners), country, base);
      return { provider, account: name, subscription: reported[0]?.subscription ?? "", states };
    });
  });
}

/** Of each account the one its earliest fact names that names one. */
function countriesOf(facts: readonly Fact[]): ReadonlyMap<string, string> {
  const placed = facts.flatMap((fact) => {
    if (!("country" in fact) || !("account" in fact)) return [];
    const { account, country, provider, reportedAt, eventId } = fact;
    if (!account || !country) return [];
    return [{ name: `${provider} ${account}`, country, reportedAt, eventId }];
  });
  const latestFirst = placed.sort(
    (a, b) => b.reportedAt - a.reportedAt || (a.eventId > b.eventId ? -1 : 1),
  );
  return new Map(latestFirst.map(({ name, country }) => [name, country]));
}

/** What is reported another account's subscription is its end here. */
function asSeenBy(account: string, winners: readonly Change[]): Change[] {
  return winners.map((change) =>
    change.account === account
      ? change
      : { ...change, phase: "ended", steps: [{ at: beginOf(change) ?? 0, items: [] }] },
  );
}

/** The state in force at that moment: what happened up to then, inclusive. */
export function stateAt({ states }: Timeline, time: number): State["items"] {
  return states.findLast(({ at }) => at <= time)?.items ?? [];
}

export function worthAt(timeline: Timeline, time: number): bigint {
  return stateAt(timeline, time).reduce((sum, { micros }) => sum + micros, 0n);
}

const isPaired = (fact: Fact): fact is Unidentified => fact.kind === "unidentified";
const isChange = (fact: Fact): fact is Change => fact.kind === "change";

const phaseRank: Record<Phase, number> = { expired: -1, started: 0, changed: 1, ended: 2 };

/**
 * Changes in force one after the other, with their rates held while a price stands, also over a
 * time in which nothing counted, unless the subscription had ended.
 */
function statesOf(winners: readonly Change[], country: string, base: string): State[] {
  const states: State[] = [];
  let held = new Map<string, Held>();
  let counted = false;
  for (const [index, change] of winners.entries()) {
    const next = beginOf(winners[index + 1]) ?? Infinity;
    for (const step of change.steps.filter(({ at }) => at < next)) {
      const counts = step.items.some(({ monthly }) => !isEqual(monthly, zero));
      // What starts again is priced anew.
      if (counts && !counted && change.phase === "started") held = new Map();
      counted = counts;
      const now = new Map<string, Held>();
      for (const { item, sku, monthly } of step.items) {
        const before = held.get(item);
        const isSame =
          before !== undefined &&
          before.currency === change.currency &&
          isEqual(before.monthly, monthly);
        const rate = isSame ? before.rate : quote(change.currency, base, beginOf(change) ?? 0);
        if (rate === null) throw new Error("no rate: such events are rejects");
        now.set(item, { sku, currency: change.currency, monthly, rate });
      }
      const counting = [...now].filter(([, { monthly }]) => !isEqual(monthly, zero));
      if (counting.length > 0 || change.phase === "ended" || change.phase === "expired")
        held = new Map(counting);
      const items = [...now.values()].map(({ sku, currency, monthly, rate }) => ({
        sku,
        currency,
        country,
        micros: rounded(times(times(monthly, rate), tenTo(6 - exponentOf(currency)))),
      }));
      states.push({ at: step.at, items });
    }
  }
  return states;
}

interface Held {
  readonly sku: string;
  readonly currency: string;
  readonly monthly: Fraction;
  readonly rate: Fraction;
}

/** In order of time; at equal times ended beats changed beats started, then the greater id. */
function winnersOf(changes: readonly Change[]): Change[] {
  const ordered = [...changes].sort(
    (a, b) =>
      (beginOf(a) ?? 0) - (beginOf(b) ?? 0) ||
      phaseRank[a.phase] - phaseRank[b.phase] ||
      (a.eventId < b.eventId ? -1 : 1),
  );
  return ordered.filter((change, index) => beginOf(change) !== beginOf(ordered[index + 1]));
}

function beginOf(change: Change | undefined): number | undefined {
  return change?.steps[0]?.at;
}

/** Subscriptions without an id: a churn ends the oldest open one of its pool. */
function churnsOfPairs(facts: readonly Fact[]): Change[] {
  const sides = facts
    .filter(isPaired)
    .sort((a, b) => a.at - b.at || (a.side === b.side ? 0 : a.side === "start" ? -1 : 1));
  const churns: Change[] = [];
  const open = new Map<string, Unidentified[]>();
  for (const side of sides) {
    const waiting = open.get(side.pool) ?? [];
    open.set(side.pool, waiting);
    if (side.side === "start") waiting.push(side);
    const ended = side.side === "churn" ? waiting.shift() : undefined;
    if (ended === undefined) continue;
    const { subscription, account, provider } = ended;
    const steps = [{ at: side.at, items: [] }];
    const { eventId, reportedAt } = side;
    const reported = { eventId, reportedAt, provider };
    churns.push({
      kind: "change",
      phase: "ended",
      currency: "",
      subscription,
      account,
      steps,
      ...reported,
    });
  }
  return churns;
}
