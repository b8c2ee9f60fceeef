/** How the summary is asked to compare. */
import type { Params } from "../api/client.js";
import type { View } from "../state/view.js";

export function compareParams(view: View): Params {
  const names = {
    none: null,
    previous: "previous_period",
    year: "previous_year",
    known: view.comparedKnownAt === null ? null : "known_then",
  } as const;
  return { compare: names[view.comparison], compare_known_at: view.comparedKnownAt };
}
