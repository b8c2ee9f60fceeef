/** MRR of ChartMogul: `docs/definitions/chartmogul.md`. */
import type { Definition } from "./definition.js";
import { pausedCounts, rateOfRenewal } from "./rules.js";

export const chartmogul: Definition = {
  label: "ChartMogul",
  rules: [pausedCounts("stripe"), rateOfRenewal],
};
