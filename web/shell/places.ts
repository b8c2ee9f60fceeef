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

export const settingsPages = [
  { path: "/settings/integrations", name: "Integrations" },
  { path: "/settings/keys", name: "API keys" },
  { path: "/settings/rejects", name: "Rejects" },
  { path: "/settings/members", name: "Members" },
  { path: "/settings/alerts", name: "Alerts" },
  { path: "/settings/digests", name: "Digests" },
  { path: "/settings/webhooks", name: "Webhooks" },
  { path: "/settings/proofs", name: "Proofs" },
  { path: "/settings/activity", name: "Workspace activity" },
  { path: "/settings/workspace", name: "Workspace" },
  { path: "/settings/sign-in", name: "Sign-in" },
] as const satisfies readonly Place[];

/** For the owner of the installation. */
export const installationPages = [
  { path: "/installation/activity", name: "Installation activity" },
  { path: "/installation/audits", name: "Audits" },
  { path: "/installation/rates", name: "Rates" },
  { path: "/installation/backups", name: "Backups" },
] as const satisfies readonly Place[];
