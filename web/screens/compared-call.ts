/** How the same is asked of the period or the reading that a screen compares with. */
import type { Params } from "../api/client.js";
import { dayText } from "../state/ranges.js";
import type { View } from "../state/view.js";

/** @returns null when nothing is compared */
export function comparedCall(view: View): Params | null {
  const { compared, comparedKnownAt } = view;
  if (compared !== null) return { ...compared };
  if (comparedKnownAt === null) return null;
  return { ...view.range, at: momentOf(view), known_at: comparedKnownAt };
}

/** The moment that figures at the end of the range are of. */
export function momentOf(view: View): string {
  if (view.at !== null) return view.at;
  const { to } = view.range;
  if (to <= dayText(Date.now())) return `${to}T00:00:00Z`;
  // To the minute, so that the same question is asked for a while.
  return `${new Date().toISOString().slice(0, 16)}:00Z`;
}
