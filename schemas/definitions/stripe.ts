/** MRR of Stripe Billing's analytics: `docs/definitions/stripe.md`. */
import type { Definition } from "./definition.js";
import { finiteDiscounts, rateOfTheDay } from "./rules.js";

export const stripe: Definition = {
  label: "Stripe Billing",
  rules: [finiteDiscounts, rateOfTheDay],
};
