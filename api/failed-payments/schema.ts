/**
 * `GET /v1/metrics/failed-payments`: the payments of subscriptions that began to fail in each month
 * and what became of them, and why customers left in it.
 */
import { z } from "zod";
import { figuresAnswer } from "../../schemas/http/clocks.js";
import { comparedText, monthFields, monthsFields } from "../started/schema.js";

const failures = {
  started: z.int().describe("Subscriptions with MRR whose payment began to fail in it."),
  recovered: z.int().describe("Of those, the ones that were paid up to `at`."),
  lost: z.int().describe("Of those, the ones that ended, paused or were given up unpaid."),
  open: z.int().describe("The rest: `started − recovered − lost`."),
  recovery_rate_pct: z
    .number()
    .nullable()
    .describe("Recovered ÷ (recovered + lost), in percent; null where neither is any."),
  mrr_at_risk: z.number().describe("MRR of all that began to fail in it."),
  recovered_mrr: z.number().describe("Of that, MRR of those recovered."),
  lost_mrr: z.number().describe("Of that, MRR of those lost."),
};

const churn = (why: string) => ({
  customers: z.int().describe(`Customers that churned in it ${why}.`),
  mrr: z.number().describe(`MRR that churned in it ${why}.`),
});
const [involuntary, voluntary, unknown] = [
  churn("while a payment failed, or because it did"),
  churn("for another reason that the provider reports"),
  churn("without a reason that the provider reports"),
];
const churned = {
  involuntary_churned: involuntary.customers,
  involuntary_churned_mrr: involuntary.mrr,
  voluntary_churned: voluntary.customers,
  voluntary_churned_mrr: voluntary.mrr,
  unknown_churned: unknown.customers,
  unknown_churned_mrr: unknown.mrr,
};

export const monthFailedPayments = z
  .object({ ...monthFields, ...failures, ...churned })
  .meta({ id: "MonthFailedPayments" });

const failedPaymentsOfMonths = z
  .object({
    ...monthsFields,
    ...failures,
    ...churned,
    series: z.array(monthFailedPayments).meta({ description: "Oldest first." }),
  })
  .meta({ id: "FailedPaymentsOfMonths" });
export type FailedPaymentsOfMonths = z.output<typeof failedPaymentsOfMonths>;

export const failedPaymentsAnswer = figuresAnswer("FailedPaymentsAnswer", {
  data: failedPaymentsOfMonths
    .extend({
      currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
      compare: failedPaymentsOfMonths
        .nullable()
        .optional()
        .meta({ description: comparedText("recover") }),
    })
    .meta({ id: "FailedPayments" }),
});
export type FailedPaymentsAnswer = z.output<typeof failedPaymentsAnswer>;
