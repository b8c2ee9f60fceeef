/**
 * Books subscription changes, countries, ends of unidentified churns and of transferred
 * subscriptions, and the MRR movements that follow.
 */
import { clickhouseTime, fromClickhouseTime } from "../../../stores/clickhouse/rows.js";
import type { Skus } from "../../../workspaces/catalogue/skus.js";
import { limits } from "../../../config.js";
import { compare, grouped, inTurns, mapInTurns } from "../../../runtime/lists.js";
import { type Fact, movementCodec, topics } from "../../../schemas/records/records.js";
import { rejectMessage, rejectRow, type RejectedEvent } from "../../rejects/record-reject.js";
import { newRows, recordedRows, type RecordedRow } from "../account/recorded.js";
import { type Booked, type Message, publishedEvent, skusOf } from "../booked.js";
import { accounts, pools, subscriptionAccounts, type Lists } from "../lists.js";
import { type AccountName, Accounts, nameOfAccount } from "./accounts.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { subscriptionChange, countryChange, withoutOutweighed, standingChange } from "./changes.js";
import { movementRecords } from "./movements.js";
import type { Side } from "./pairing.js";
import {
  nameOfPool,
  pairPool,
  refusedIn,
  sideOf,
  rejectOf,
  resolvedOf,
  withoutStart,
} from "./pools.js";
import {
  isReported,
  nameOfSubscription,
  type Subscription,
  transferEnds,
} from "./transfer-rules.js";

/**
 * @param batch facts about subscriptions and customers, each once
 * @param now ms since 1970
 */
export async function bookSubscriptions(
  lists: Lists,
  skus: Skus,
  batch: readonly Fact[],
  now: number,
): Promise<Booked> {
  await skus.see(
    batch.flatMap((fact) => {
      const steps = "Subscription" in fact.body ? fact.body.Subscription.steps : [];
      return steps.flatMap(({ items }) => skusOf(fact, items));
    }),
  );
  return new Booking(lists, batch, now).run();
}

class Booking {
  readonly #accounts: Accounts;
  readonly #said = new Map<Fact, Change>();
  readonly #rejected: RejectedEvent[] = [];
  readonly #rejects: object[] = [];
  readonly #newSides: Side[] = [];
  #again: readonly Fact[] = [];
  /** Facts for which there was no room. */
  readonly #refused = new Set<string>();

  constructor(
    private readonly lists: Lists,
    private readonly batch: readonly Fact[],
    private readonly now: number,
  ) {
    this.#accounts = new Accounts(lists);
  }

  async run(): Promise<Booked> {
    await this.#load();
    this.#again = this.batch.filter((fact) => this.#isKnown(fact));
    const reported = this.#changes();
    await this.#endUnidentified(this.batch.flatMap(sideOf));
    await this.#endTransferred(reported);
    const full = this.batch.filter(({ fact_id: id }) => this.#refused.has(id));
    this.#rejected.push(...full.map((fact) => tooLarge(fact, fact)));
    const { recorded, messages } = await this.#movements();
    const booked_at = clickhouseTime(this.now);
    return {
      rows: {
        unidentified_sides: this.#newSides,
        subscription_changes: this.#accounts.added.map((row) => ({ ...row, booked_at })),
        mrr_movements: recorded.map((row) => ({ ...row, booked_at })),
        rejects: [...this.#rejects, ...this.#rejected.map(rejectRow)],
      },
      messages: [...messages, ...this.#rejected.map(rejectMessage)],
      again: this.#again,
    };
  }

  async #load(): Promise<void> {
    const changes = await mapInTurns(this.batch, changeIn);
    for (const [index, fact] of this.batch.entries()) {
      const change = changes[index];
      if (change) this.#said.set(fact, change);
    }
    await this.#accounts.load(this.#said.values());
    await this.lists.load(pools, this.batch.flatMap(sideOf).map(nameOfPool));
  }

  /** By the same receipt. */
  #isKnown(fact: Fact): boolean {
    const change = this.#said.get(fact);
    const receipt =
      change === undefined ? this.#sideReceipt(fact) : this.#accounts.receiptOf(change);
    if (receipt === undefined) return false;
    return fact.replay || receipt === clickhouseTime(fact.received_at);
  }

  #sideReceipt(fact: Fact): string | undefined {
    const [side] = sideOf(fact);
    if (side === undefined) return undefined;
    const known = this.lists.of(pools, nameOfPool(side)).find((item) => {
      return "side" in item && item.side.fact_id === side.fact_id;
    });
    return known !== undefined && "side" in known ? known.side.recorded_at : undefined;
  }

  /** @returns the reported changes that had room, known or not */
  #changes(): Change[] {
    const said = [...this.#said.values()];
    const reported = said.filter(({ country }) => country === "");
    const located = said.filter(({ country }) => country !== "");
    const taken = reported.filter((change) => this.#take(change));
    for (const [, some] of grouped(located, nameOfAccount)) {
      const [first] = some;
      const known = first === undefined ? [] : this.#accounts.changesOf(first);
      const before = known.filter(({ subscription, country }) => subscription === "" && country);
      for (const change of withoutOutweighed(some, before)) this.#take(change);
    }
    return taken.filter(({ subscription }) => subscription !== "");
  }

  #take(change: Change): boolean {
    const isTaken = this.#accounts.add(change);
    if (!isTaken) this.#refused.add(change.change_id);
    return isTaken;
  }

  /**
   * Ends subscriptions that went to another account (`transfer-rules.ts`): these ends are changes,
   * too.
   */
  async #endTransferred(reported: readonly Change[]): Promise<void> {
    const bySubscription = grouped(reported, nameOfSubscription);
    await this.lists.load(subscriptionAccounts, bySubscription.keys());
    for (const [name, changes] of bySubscription) {
      const known = new Set(this.lists.of(subscriptionAccounts, name));
      for (const { account } of changes) {
        if (known.has(account) || known.size >= limits.accountsOfSubscriptionMax) continue;
        known.add(account);
        this.lists.add(subscriptionAccounts, name, [account]);
      }
      const [first] = changes;
      if (first === undefined || known.size < 2) continue;
      const ends = transferEnds(await this.#reportedOf(first, known));
      await this.#accounts.load(ends);
      // All of them: a refused end refuses everything that was reported.
      const refused = ends.filter((end) => !this.#accounts.add(end));
      if (refused.length > 0) for (const { change_id } of changes) this.#refused.add(change_id);
    }
  }

  /** The newest by time, up to the maximum. */
  async #reportedOf(of: Subscription, under: Iterable<string>): Promise<Change[]> {
    const names = Array.from(under, (account) => ({ ...of, account }));
    await this.#accounts.load(names);
    return names
      .flatMap((name) => this.#accounts.changesOf(name))
      .filter((change) => change.subscription === of.subscription && isReported(change))
      .sort((one, other) => compare(other.at, one.at))
      .slice(0, limits.changesOfSharedMax);
  }

  async #endUnidentified(sides: readonly Side[]): Promise<void> {
    const byPool = grouped(sides, nameOfPool);
    await this.lists.load(pools, byPool.keys());
    for (const [name, reported] of byPool) {
      const known = this.lists.of(pools, name).flatMap((item) => ("side" in item ? item.side : []));
      const ids = new Set(known.map(({ fact_id: id }) => id));
      const missing = reported.filter(({ fact_id: id }) => !ids.has(id) && ids.add(id));
      this.lists.add(
        pools,
        name,
        missing.map((side) => ({ side })),
      );
      this.#newSides.push(...missing);
      await this.#pair(name, new Set(missing.map(({ fact_id: id }) => id)));
    }
  }

  /** @param here ids of the new sides */
  async #pair(name: string, here: ReadonlySet<string>): Promise<void> {
    const items = this.lists.of(pools, name);
    const sides = items.flatMap((item) => ("side" in item ? item.side : []));
    const booked = items.flatMap((item) => ("end" in item ? item.end : []));
    const { ends, waiting } = pairPool(sides, here, booked);
    await this.#accounts.load(ends);
    const beyond: Change[] = [];
    for (const end of ends) {
      if (!this.#accounts.add(end)) {
        beyond.push(end);
        continue;
      }
      const { account, change_id, revision, at, event_id, recorded_at } = end;
      const kept = { account, change_id, revision, at, void: end.void, event_id, recorded_at };
      this.lists.add(pools, name, [{ end: kept }]);
    }
    this.#rejected.push(...refusedIn(sides, beyond).map(endTooLarge));
    await this.#listWaiting(name, sides, waiting);
  }

  /** Also those of earlier batches, because a late churn may have taken another's partner. */
  async #listWaiting(name: string, sides: readonly Side[], unpaired: readonly Side[]) {
    const listed = new Set<string>();
    for (const item of this.lists.of(pools, name)) {
      if (!("listed" in item)) continue;
      if (item.isListed) listed.add(item.listed);
      else listed.delete(item.listed);
    }
    // What is sent again was taken from the list by whoever replayed it.
    for (const { event_id: id } of this.#again) listed.delete(id);
    const waiting = await withoutStart(unpaired, (of) => this.#changesOf(of));
    const waits = new Set(waiting.map(({ event_id: id }) => id));
    const list = (churn: Side, isListed: boolean): void => {
      this.lists.add(pools, name, [{ listed: churn.event_id, isListed }]);
      this.#rejects.push((isListed ? rejectOf : resolvedOf)(churn, this.now));
    };
    for (const side of sides) {
      const { event_id: id } = side;
      if (side.side !== "churn" || waits.has(id) === listed.has(id)) continue;
      list(side, waits.has(id));
    }
  }

  /** Under any account. */
  async #changesOf(of: Subscription & Pick<Side, "account">): Promise<Change[]> {
    const name = nameOfSubscription(of);
    await this.lists.load(subscriptionAccounts, [name]);
    const under = new Set([of.account, ...this.lists.of(subscriptionAccounts, name)]);
    const names = Array.from(under, (account) => ({ ...of, account }));
    await this.#accounts.load(names);
    return names
      .flatMap((account) => this.#accounts.changesOf(account))
      .filter(({ subscription }) => subscription === of.subscription);
  }

  /**
   * What is to be recorded, and what is published: that, and what was recorded before of facts that
   * are sent again.
   */
  async #movements(): Promise<{ recorded: RecordedRow[]; messages: Message[] }> {
    const recorded: RecordedRow[] = [];
    const again: RecordedRow[] = [];
    const changed = grouped(this.#accounts.added, nameOfAccount);
    await inTurns(changed, ([name, [first]]) => {
      if (first === undefined) return;
      const after = this.#accounts.changesOf(first);
      const { rows, corrections } = newRows(this.#accounts.before(name), after);
      this.lists.add(
        accounts,
        name,
        corrections.map((correction) => ({ correction })),
      );
      recorded.push(...rows);
    });
    const replayed = new Set(this.#again.map(({ event_id: id }) => id));
    const replayedAccounts = this.#replayedAccounts(replayed);
    // An end that a side made names an account that no fact of the batch need be of.
    await this.#accounts.load(replayedAccounts.values());
    for (const name of replayedAccounts.keys()) {
      const rows = recordedRows(this.#accounts.before(name));
      again.push(...rows.filter(({ event_id: id }) => replayed.has(id)));
    }
    const events = new Map(this.batch.map((fact) => [fact.event_id, fact]));
    const messages = movementRecords([...again, ...recorded], this.batch).map((movement) => {
      const fact = events.get(movement.event_id);
      return {
        topic: topics.movements,
        key: `${movement.workspace}/${movement.environment}/${movement.account}`,
        value: movementCodec.encode(movement),
        ...(fact === undefined ? {} : { about: publishedEvent(fact) }),
      };
    });
    return { recorded, messages };
  }

  #replayedAccounts(events: ReadonlySet<string>): Map<string, AccountName> {
    const found = new Map<string, AccountName>();
    const add = (account: AccountName): void => void found.set(nameOfAccount(account), account);
    for (const fact of this.#again) {
      const change = this.#said.get(fact);
      if (change !== undefined) add(change);
      for (const side of sideOf(fact)) {
        for (const item of this.lists.of(pools, nameOfPool(side))) {
          if (!("end" in item) || !events.has(item.end.event_id)) continue;
          add({ ...side, account: item.end.account });
        }
      }
    }
    return found;
  }
}

function changeIn(fact: Fact): Change | null {
  return subscriptionChange(fact) ?? countryChange(fact) ?? standingChange(fact);
}

/** The side that made the end may be of an earlier batch. */
function endTooLarge(side: Side): RejectedEvent {
  const { partition, offset, recorded_at: recordedAt } = side;
  const event = { received_at: fromClickhouseTime(recordedAt), ...side };
  return tooLarge({ partition, offset: BigInt(offset) }, event);
}

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
