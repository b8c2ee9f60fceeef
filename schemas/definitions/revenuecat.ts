/** MRR of RevenueCat's charts: `docs/definitions/revenuecat.md`. */
import type { Definition } from "./definition.js";
import { monthsOfFourWeeks, rateOfRenewal, refundEnds } from "./rules.js";

export const revenuecat: Definition = {
  label: "RevenueCat",
  rules: [refundEnds, rateOfRenewal, monthsOfFourWeeks],
};
