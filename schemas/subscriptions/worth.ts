/** What a subscription is worth after one change and the next (`definitions.md`, MRR). Pure. */
import { announcedBefore } from "../bounds.js";
import { mrrOf } from "../money/monthly.js";
import { transferSuffix } from "../movements.js";
import { type Change, type ReadPrice, countingItems, readPrice } from "./change.js";

/** A price that stands, with interval and worth as the change that brought it has them. */
export interface Held extends ReadPrice {
  readonly sku: string;
  /** Millionths of the base currency. */
  readonly mrr: bigint;
}

/** By item. */
export interface Worth {
  readonly counting: ReadonlyMap<string, Held>;
  /** Of items that count nothing now, without the subscription having ended: their rates stand. */
  readonly paused: ReadonlyMap<string, Held>;
}

const none: ReadonlyMap<string, Held> = new Map();
export const worthless: Worth = { counting: none, paused: none };

type Step = Change["steps"][number];

/**
 * The steps of a change that come true: none from the next change on.
 * @param next the change after it, if there is one
 */
export function stepsOf({ steps }: Pick<Change, "steps">, next?: Pick<Change, "at">): Step[] {
  const until = next?.at ?? reach;
  return steps.filter(({ at }) => at < until);
}

/** Facts announce nothing later (`schemas/bounds.ts`). */
const reach = `${announcedBefore} 00:00:00.000`;

/**
 * Rate and interval are held while the price of the item is, also over a pause, so that another
 * reading of its interval moves nothing; one that was left out of what else counted begins anew, as
 * all do where a subscription starts again.
 */
export function worthAfter(
  before: Worth,
  step: Step,
  change: Pick<Change, "phase" | "change_id">,
): Worth {
  const items = countingItems(step.items);
  if (items.length === 0) {
    if (hasEnded(change)) return worthless;
    return { counting: none, paused: new Map([...before.paused, ...before.counting]) };
  }
  const paused = change.phase === "started" ? none : before.paused;
  const counting = new Map<string, Held>();
  for (const { item, external_id: sku, price, mrr } of items) {
    const read = readPrice(price);
    const held = before.counting.get(item) ?? paused.get(item);
    counting.set(
      item,
      held?.price === read.price ? { ...held, sku } : { ...read, sku, mrr: mrrOf(mrr) },
    );
  }
  return { counting, paused: none };
}

/** Whether what is worth nothing has ended, or only pauses (unpaid, on trial, free). */
function hasEnded({ phase, change_id: id }: Pick<Change, "phase" | "change_id">): boolean {
  return phase === "ended" || phase === "expired" || id.endsWith(transferSuffix);
}
