import type { MovementsRow } from "../../../api/movement-series/schema.js";

/** Kinds of movements in the order they are always shown: what was gained, then what was lost. */
export const kinds = [
  { kind: "new", label: "New", field: "new_mrr" },
  { kind: "expansion", label: "Expansion", field: "expansion_mrr" },
  { kind: "reactivation", label: "Reactivation", field: "reactivation_mrr" },
  { kind: "contraction", label: "Contraction", field: "contraction_mrr" },
  { kind: "churn", label: "Churn", field: "churn_mrr" },
  { kind: "switch", label: "Switch", field: "switch_mrr" },
] as const;
export type Kind = (typeof kinds)[number]["kind"];

/** All kinds, but `switch` only where it moves something: under a filter or in a breakdown. */
export function kindsIn(rows: readonly MovementsRow[]): readonly (typeof kinds)[number][] {
  const isSwitched = rows.some((row) => row.switch_mrr !== 0);
  return isSwitched ? kinds : kinds.filter(({ kind }) => kind !== "switch");
}

export function kindOf(text: string | null): Kind | null {
  return kinds.find(({ kind }) => kind === text)?.kind ?? null;
}
