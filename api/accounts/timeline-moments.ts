/** One moment of an account's subscriptions as lines of its timeline. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { timeText } from "../events/evidence.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { showMrr } from "../reading/amounts.js";
import { type MovementPart, type TimelineItem, timelineItem } from "./schema.js";
import type { AccountMomentRow } from "./timeline-query.js";

export interface MomentOf {
  readonly provider: string;
  readonly catalogue: Catalogue;
  /** Of the workspace, ISO 4217. */
  readonly currency: string;
}

type Unsaid = "change" | "event_id" | "subscription" | "product_id" | "product_name" | "amount";

export const nothing: Pick<TimelineItem, Unsaid | "currency" | "parts"> = {
  change: null,
  event_id: null,
  subscription: null,
  product_id: null,
  product_name: null,
  amount: null,
  currency: null,
  parts: [],
};

/**
 * All that moved is one movement (`definitions.md`, MRR), however many parts it has: an upgrade is
 * the loss of one SKU and the gain of another. Where nothing moved, each subscription that began or
 * ended is a line.
 */
export function presentMoment(row: AccountMomentRow, of: MomentOf): TimelineItem[] {
  const happened_at = timeText(row.at_ms);
  const changes = row.changes.map(changeOf);
  if (row.parts.length > 0) return [movementOf(row.parts, changes, happened_at, of)];
  return changes
    .filter(({ turns }) => turns)
    .map(({ id, subscription, phase, event_id }) => ({
      ...nothing,
      happened_at,
      type: "change",
      id,
      // The first known change of a subscription may be a later report.
      detail: phase === "changed" ? "started" : phase,
      change: phase,
      event_id,
      subscription,
    }));
}

type Change = ReturnType<typeof changeOf>;

function changeOf([subscription, phase, isTransfer, turns, event_id, id]: Element<"changes">) {
  const named = isTransfer === 1 ? "transferred" : phase;
  return {
    id,
    subscription,
    phase: timelineItem.shape.change.unwrap().parse(named),
    turns: turns === 1,
    event_id,
  };
}

type Element<Name extends "parts" | "changes"> = AccountMomentRow[Name][number];

function movementOf(
  rows: AccountMomentRow["parts"],
  changes: readonly Change[],
  happened_at: string,
  { provider, catalogue, currency }: MomentOf,
): TimelineItem {
  const sum = rows.reduce((all, [, , , mrr]) => all + mrrOf(mrr), 0n);
  const gainsFirst = partsOf(rows).sort(byGain);
  const parts = sum < 0n ? gainsFirst.reverse() : gainsFirst;
  const [main] = parts;
  const change = changes.find(({ subscription }) => subscription === main?.subscription);
  const shown = parts.map(({ subscription, external_id, mrr }): MovementPart => {
    const product = catalogue.productOf({ provider, externalId: external_id });
    const names = { product_id: product.id, product_name: product.name };
    return { subscription, external_id, ...names, mrr: showMrr(mrr, currency) };
  });
  return {
    happened_at,
    type: "movement",
    id: happened_at,
    detail: kindOf(rows, sum),
    change: change?.phase ?? null,
    // A movement may have been corrected since, so the change names the event that began it.
    event_id: change?.event_id ?? main?.event ?? null,
    subscription: main?.subscription ?? null,
    product_id: shown[0]?.product_id ?? null,
    product_name: shown[0]?.product_name ?? null,
    amount: showMrr(sum, currency),
    currency,
    parts: shown,
  };
}

function byGain(one: Part, other: Part): number {
  return one.mrr === other.mrr ? 0 : one.mrr < other.mrr ? 1 : -1;
}

/** All kinds of one SKU together. */
function partsOf(rows: AccountMomentRow["parts"]) {
  const parts = new Map<string, Part>();
  for (const [subscription, external_id, , mrr, event] of rows) {
    const name = JSON.stringify([subscription, external_id]);
    const before = parts.get(name)?.mrr ?? 0n;
    parts.set(name, { subscription, external_id, event, mrr: before + mrrOf(mrr) });
  }
  return [...parts.values()];
}

interface Part {
  readonly subscription: string;
  readonly external_id: string;
  readonly event: string;
  /** millionths */
  readonly mrr: bigint;
}

/** What moves between SKUs has a kind of its own beside that of the rest. */
function kindOf(rows: AccountMomentRow["parts"], sum: bigint): string {
  if (sum === 0n) return "switch";
  return rows.find(([, , kind]) => kind !== "switch")?.[2] ?? "switch";
}
