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
  | "group-8";

const groups = [1, 2, 3, 4, 5, 6, 7, 8] as const;
export const groupsMax = groups.length;

/** The eighth and all after it share one. */
export function groupTone(index: number): Tone {
  return `group-${groups[Math.min(index, groups.length - 1)] ?? 8}`;
}
