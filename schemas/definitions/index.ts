/**
 * Definitions of MRR that ours can be held beside; `docs/definitions` has a page for each. Another
 * one is an entry and a page.
 */
import type { Definition } from "./definition.js";
import {
  finiteDiscounts,
  firstMonthLeavers,
  monthsOfFourWeeks,
  pausedCounts,
  rateOfRenewal,
  rateOfTheDay,
  refundEnds,
} from "./rules.js";

export const definitions = {
  ours: { label: "This service", rules: [] },
  stripe: { label: "Stripe Billing", rules: [finiteDiscounts, rateOfTheDay] },
  chartmogul: { label: "ChartMogul", rules: [pausedCounts("stripe"), rateOfRenewal] },
  profitwell: { label: "ProfitWell Metrics", rules: [firstMonthLeavers] },
  revenuecat: { label: "RevenueCat", rules: [refundEnds, rateOfRenewal, monthsOfFourWeeks] },
} as const satisfies Readonly<Record<string, Definition>>;

export type DefinitionName = keyof typeof definitions;

export const definitionNames = Object.keys(definitions).filter(
  (name): name is DefinitionName => name in definitions,
);
