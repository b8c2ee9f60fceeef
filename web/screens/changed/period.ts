/** The two ends between which a screen says what changed. */
import { day } from "../../format/dates.js";
import { type Range, comparedRange, dayBefore, isDay } from "../../state/ranges.js";
import type { View } from "../../state/view.js";

// Here and not in the screen, which the overview would load with them.
export const path = "/v1/metrics/mrr/what-changed";
/** All that one answer has room for. */
export const rowsAsked = "200";

export interface Period {
  /** Days, half-open: movements of these make the difference. */
  readonly days: Range;
  /** Its last day is still going on: it ends with the newest moment there is. */
  readonly isOpen: boolean;
  /** How the service is asked for it; a reading of the past ends with its own moment. */
  readonly params: { readonly from: string; readonly to: string | null; readonly at: null };
}

/** The range of the view, from the end of what it is compared with. */
export function periodOf(view: View): Period {
  const against = view.get("against");
  const before = comparedRange(view.range, view.comparison === "year" ? "year" : "previous");
  const { to } = view.range;
  const isOwn = against !== null && isDay(against) && against < to;
  return periodIn(view, { from: isOwn ? against : (before?.to ?? view.range.from), to });
}

export function periodIn({ end, isFrozen }: View, days: Range): Period {
  const isOpen = Date.parse(days.to) > end;
  const moment = isFrozen ? new Date(end + 1).toISOString() : null;
  return { days, isOpen, params: { from: days.from, to: isOpen ? moment : days.to, at: null } };
}

/** `since Oct 1, 2026`, `between Oct 1, 2026 and Oct 31, 2026` */
export function periodText({ days: { from, to }, isOpen }: Period): string {
  const last = dayBefore(to);
  if (isOpen) return `since ${day(from)}`;
  return from === last ? `on ${day(from)}` : `between ${day(from)} and ${day(last)}`;
}
