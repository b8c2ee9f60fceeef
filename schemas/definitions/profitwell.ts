/** MRR of ProfitWell Metrics (Paddle): `docs/definitions/profitwell.md`. */
import type { Definition } from "./definition.js";
import { firstMonthLeavers } from "./rules.js";

export const profitwell: Definition = {
  label: "ProfitWell Metrics",
  rules: [firstMonthLeavers],
};
