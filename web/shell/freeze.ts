/** A frozen link names its days and both clocks, so it shows the same figures for ever. */
import type { View } from "../state/view.js";

/** @param completeTo everything up to then is booked; later figures may still change */
export function frozen(view: View, completeTo: string | null): string {
  if (view.isFrozen) return view.with({ at: null, known_at: null });
  const knownAt = completeTo ?? new Date().toISOString();
  const { range, interval, compared } = view;
  return view.with({
    range: null,
    ...range,
    interval,
    compare: compared === null && view.comparison !== "known" ? "none" : view.comparison,
    at: view.testClock ?? knownAt,
    known_at: knownAt,
  });
}
