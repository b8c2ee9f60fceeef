/** What a colour stands for; the same on every screen (styles/tokens.css). */
const movementTones = [
  "new",
  "expansion",
  "reactivation",
  "contraction",
  "churn",
  "switch",
] as const;
type MovementTone = (typeof movementTones)[number];

export type Tone =
  | MovementTone
  | "balance"
  | "accent"
  | "group-1"
  | "group-2"
  | "group-3"
  | "group-4"
  | "group-5"
  | "group-6"
  | "group-7"
  | "others";

/** Of the groups of a chart, the largest first; what remains is one of its own. */
export const groupTones = [
  "group-1",
  "group-2",
  "group-3",
  "group-4",
  "group-5",
  "group-6",
  "group-7",
] as const satisfies readonly Tone[];
