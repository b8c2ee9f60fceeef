/**
 * A frozen link names its days, the revision of a segment and both clocks, so it shows the same
 * figures for ever.
 */
import { type View, segmentShown } from "../state/view.js";

/** @param completeTo everything up to then is booked; later figures may still change */
export function frozen(view: View, completeTo: string | null): string {
  const [segment] = view.get("segment")?.split(".") ?? [];
  if (view.isFrozen) return view.with({ segment, at: null, known_at: null });
  const knownAt = completeTo ?? new Date().toISOString();
  const { range, interval, compared } = view;
  return view.with({
    range: null,
    ...range,
    interval,
    compare: compared === null && view.comparison !== "known" ? "none" : view.comparison,
    segment:
      view.get("segment") === segment ? (segmentShown.value ?? segment) : view.get("segment"),
    at: view.testClock ?? knownAt,
    known_at: knownAt,
  });
}
