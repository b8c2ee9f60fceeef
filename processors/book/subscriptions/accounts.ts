/** The accounts that a batch changes, with the room that is left in each. */
import { limits } from "../../../config.js";
import type { KnownAccount } from "../account/recorded.js";
import { type AccountItem, accounts, type Lists } from "../lists.js";
import {
  type Change,
  countingItems,
  readPrice,
  trialPrice,
} from "../../../schemas/subscriptions/change.js";

export type AccountName = Pick<Change, "workspace" | "environment" | "account">;

export function nameOfAccount({ workspace, environment, account }: AccountName): string {
  return JSON.stringify([workspace, environment, account]);
}

/** What an account has, kept so that an addition needs no look at all of it. */
interface Room {
  readonly changes: Map<string, Change>;
  /** Items of all steps, from which movements are worked out. */
  size: number;
}

export class Accounts {
  readonly #rooms = new Map<string, Room>();
  readonly added: Change[] = [];

  constructor(private readonly lists: Lists) {}

  load(names: Iterable<AccountName>): Promise<void> {
    return this.lists.load(accounts, Array.from(names, nameOfAccount));
  }

  changesOf(name: AccountName): readonly Change[] {
    return changesIn(this.lists.of(accounts, nameOfAccount(name)));
  }

  /** When the known change was received; undefined: it is not known. */
  receiptOf(change: Change): string | undefined {
    return this.#roomOf(nameOfAccount(change), change).changes.get(idOf(change))?.recorded_at;
  }

  before(name: string): KnownAccount {
    const items = this.lists.before(accounts, name);
    const corrections = items.flatMap((item) => ("correction" in item ? [item.correction] : []));
    return { changes: changesIn(items), corrections };
  }

  /**
   * Adds a change that is not known yet. An account never shrinks, so a refused change stays
   * refused.
   * @returns false: the account is full
   */
  add(change: Change): boolean {
    const name = nameOfAccount(change);
    const room = this.#roomOf(name, change);
    const id = idOf(change);
    const known = room.changes.get(id);
    if (known !== undefined) {
      return saysMore(change, known) ? this.add({ ...change, revision: 2 }) : true;
    }
    if (room.size >= roomFor(change)) return false;
    room.changes.set(id, change);
    room.size += sizeOf(change);
    this.lists.add(accounts, name, [{ change }]);
    this.added.push(change);
    return true;
  }

  #roomOf(name: string, account: AccountName): Room {
    const known = this.#rooms.get(name);
    if (known !== undefined) return known;
    const changes = this.changesOf(account);
    const size = changes.reduce((sum, change) => sum + sizeOf(change), 0);
    const room = { changes: new Map(changes.map((change) => [idOf(change), change])), size };
    this.#rooms.set(name, room);
    return room;
  }
}

/**
 * A version before booked the change without plan intervals or trials: a replay adds a second
 * revision, under its own event.
 */
function saysMore(change: Change, known: Change): boolean {
  if (change.revision !== 1 || change.recorded_at !== known.recorded_at) return false;
  const [now = [], before = []] = [change, known].map(({ steps }) =>
    steps.flatMap(({ items }) => items.map(({ price }) => price)),
  );
  return [isTrial, hasInterval].some((says) => now.some(says) && !before.some(says));
}

function isTrial(price: string): boolean {
  return price === trialPrice;
}

function hasInterval(price: string): boolean {
  return readPrice(price).interval !== "unknown";
}

/**
 * A change after which nothing counts has room of its own, because a refused end would count for
 * ever.
 */
function roomFor({ steps, subscription }: Change): number {
  const isEnd = countingItems(steps.at(-1)?.items ?? []).length === 0 && subscription !== "";
  return isEnd ? limits.accountSizeMax + limits.accountEndsMax : limits.accountSizeMax;
}

function sizeOf({ steps }: Change): number {
  return Math.max(
    1,
    steps.reduce((sum, { items }) => sum + items.length, 0),
  );
}

function idOf({ change_id: id, revision }: Change): string {
  return `${revision} ${id}`;
}

function changesIn(items: readonly AccountItem[]): Change[] {
  return items.flatMap((item) => ("change" in item ? [item.change] : []));
}
