/** Two definitions of MRR side by side, in one sentence made from the figures. */
import type { MrrCompareAnswer } from "../../../api/mrr-compare/schema.js";
import { count, money } from "../../format/numbers.js";

export function sentenceOf(comparison: MrrCompareAnswer["comparison"]): string {
  const { label, theirs, difference, accounts, currency } = comparison;
  const figure = `By the rules of ${label} MRR is ${money(theirs, currency)}`;
  if (accounts === 0) return `${figure}, as by ours.`;
  const who = accounts === 1 ? "one account" : `${count(accounts)} accounts`;
  if (difference === 0) return `${figure}, as by ours, with ${who} counted otherwise.`;
  const size = `${money(Math.abs(difference), currency)} ${difference > 0 ? "more" : "less"}`;
  return `${figure}, ${size} than by ours: ${who} counted otherwise.`;
}
