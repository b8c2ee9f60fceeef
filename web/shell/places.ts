/** Where one can go: for the navigation, the keys and the palette. */
export interface Place {
  readonly path: string;
  readonly name: string;
  /** Pressed after `g`. */
  readonly key?: string;
}

export const groups = [
  {
    name: "Figures",
    places: [
      { path: "/overview", name: "Overview", key: "o" },
      { path: "/mrr", name: "MRR", key: "m" },
      { path: "/what-changed", name: "What changed", key: "w" },
      { path: "/revenue", name: "Revenue", key: "r" },
      { path: "/rates", name: "Churn and LTV", key: "c" },
      { path: "/retention", name: "Retention", key: "n" },
      { path: "/products", name: "Products", key: "p" },
    ],
  },
  {
    name: "Records",
    places: [
      { path: "/transactions", name: "Transactions", key: "t" },
      { path: "/accounts", name: "Accounts", key: "a" },
      { path: "/live", name: "Live feed", key: "l" },
    ],
  },
  { name: "Workspace", places: [{ path: "/settings", name: "Settings", key: "s" }] },
] as const satisfies readonly { readonly name: string; readonly places: readonly Place[] }[];

export const screens: readonly Place[] = [
  ...groups.flatMap(({ places }): readonly Place[] => places),
  { path: "/mrr/movements", name: "Movements" },
  { path: "/mrr/definitions", name: "Definitions of MRR" },
  { path: "/why", name: "What we knew when" },
];
