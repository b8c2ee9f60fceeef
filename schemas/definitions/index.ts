/** Definitions of MRR that ours can be held beside. Another one is a file and a line here. */
import { chartmogul } from "./chartmogul.js";
import type { Definition } from "./definition.js";
import { profitwell } from "./profitwell.js";
import { revenuecat } from "./revenuecat.js";
import { stripe } from "./stripe.js";

const ours: Definition = { label: "This service", rules: [] };

export const definitions = {
  ours,
  stripe,
  chartmogul,
  profitwell,
  revenuecat,
} as const satisfies Readonly<Record<string, Definition>>;

export type DefinitionName = keyof typeof definitions;

export const definitionNames = Object.keys(definitions).filter(
  (name): name is DefinitionName => name in definitions,
);
