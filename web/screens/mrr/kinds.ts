/** Kinds of movements in the order they are always shown: what was gained, then what was lost. */
export const kinds = [
  { kind: "new", label: "New", field: "new_mrr" },
  { kind: "expansion", label: "Expansion", field: "expansion_mrr" },
  { kind: "reactivation", label: "Reactivation", field: "reactivation_mrr" },
  { kind: "contraction", label: "Contraction", field: "contraction_mrr" },
  { kind: "churn", label: "Churn", field: "churn_mrr" },
] as const;
export type Kind = (typeof kinds)[number]["kind"];

export function kindOf(text: string | null): Kind | null {
  return kinds.find(({ kind }) => kind === text)?.kind ?? null;
}
