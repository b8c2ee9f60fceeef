/**
 * The figures a proof can show: the call of the interface that answers each, and the place in its
 * answer.
 */
import { limits } from "../../config.js";
import { monthsByDefault, type ProofFigure } from "../../schemas/http/proofs.js";
import { startOfMonth } from "../../schemas/months.js";
import { utcDay } from "../../schemas/money/rates.js";
import { movementsAnswer } from "../movement-series/schema.js";
import { mrrAnswer } from "../mrr/schema.js";
import { ratesAnswer } from "../rates/schema.js";
import { revenueAnswer } from "../revenue/schema.js";
import { summaryAnswer } from "../summary/schema.js";
import type { Unit } from "./shown.js";

type Value = number | null;
interface Row {
  /** The first day of its month. */
  readonly from: string;
  readonly value: Value;
}

interface FigureBase {
  readonly name: string;
  readonly path: string;
  readonly unit: Unit;
  /** The heading of docs/definitions.md or docs/metrics.md that defines it. */
  readonly definition: string;
  /** Its days: one moment; whole months; or those and what runs up to `at`. */
  readonly of: "moment" | "months" | "months and now";
}
export type Figure = FigureBase &
  ({ readonly read: (answer: unknown) => Value } | { readonly rows: (answer: unknown) => Row[] });

const summary = (read: (data: ReturnType<typeof ofSummary>) => Value) => ({
  path: "/v1/metrics/summary",
  definition: "definitions.md#mrr",
  of: "moment" as const,
  read: (answer: unknown) => read(ofSummary(answer)),
});
const ofSummary = (answer: unknown) => summaryAnswer.parse(answer).data;

const rates = (read: (data: ReturnType<typeof ofRates>) => Value) => ({
  path: "/v1/metrics/rates",
  unit: "percent" as const,
  definition: "metrics.md#rates-get-v1metricsrates",
  of: "months" as const,
  read: (answer: unknown) => read(ofRates(answer)),
});
const ofRates = (answer: unknown) => ratesAnswer.parse(answer).data;

const money = {
  path: "/v1/metrics/revenue",
  unit: "money" as const,
  definition: "definitions.md#ledger-and-revenue",
  of: "months" as const,
};
const ofRevenue = (answer: unknown) => revenueAnswer.parse(answer).data;

const movements = (valueOf: (row: ReturnType<typeof ofMovements>[number]) => Value) => ({
  path: "/v1/metrics/mrr/movements",
  definition: "definitions.md#mrr",
  of: "months and now" as const,
  rows: (answer: unknown) =>
    ofMovements(answer).map((row) => ({ from: row.from, value: valueOf(row) })),
});
const ofMovements = (answer: unknown) => movementsAnswer.parse(answer).data.movements;

export const figures: Readonly<Record<ProofFigure, Figure>> = {
  mrr: { name: "MRR", unit: "money", ...summary(({ mrr }) => mrr) },
  arr: { name: "ARR", unit: "money", ...summary(({ arr }) => arr) },
  active_subscribers: {
    name: "Active subscribers",
    unit: "count",
    ...summary((data) => data.active_subscribers),
  },
  arpa: { name: "MRR per subscriber", unit: "money", ...summary(({ arpa }) => arpa) },
  mrr_growth: {
    name: "Growth of MRR over a month",
    path: "/v1/metrics/mrr",
    unit: "percent",
    definition: "definitions.md#mrr",
    of: "moment",
    read: (answer) => mrrAnswer.parse(answer).data.growth_mom_pct,
  },
  customer_churn: {
    name: "Customer churn of a month, on average",
    ...rates((data) => data.customer_churn_rate_pct),
  },
  mrr_churn: {
    name: "MRR churn of a month, on average",
    ...rates((data) => data.mrr_churn_rate_pct),
  },
  net_mrr_churn: {
    name: "Net MRR churn of a month, on average",
    ...rates((data) => data.net_mrr_churn_rate_pct),
  },
  revenue: { name: "Revenue", ...money, read: (answer) => ofRevenue(answer).totals.revenue },
  net_revenue: {
    name: "Revenue less tax and fees",
    ...money,
    read: (answer) => ofRevenue(answer).totals.net,
  },
  mrr_over_time: { name: "MRR", unit: "money", ...movements((row) => row.end_mrr) },
  subscribers_over_time: {
    name: "Active subscribers",
    unit: "count",
    ...movements((row) => row.end_accounts),
  },
  revenue_over_time: {
    name: "Revenue by month",
    ...money,
    rows: (answer) =>
      ofRevenue(answer).revenue.map(({ from, revenue }) => ({ from, value: revenue })),
  },
};

/**
 * The months before the one of `at`, as parameters of the interface.
 * @param at ms since 1970
 */
export function periodOf(figure: Figure, months: number | null, at: number) {
  if (figure.of === "moment") return null;
  const end = startOfMonth(at);
  const from = startOfMonth(end, -(months ?? monthsByDefault));
  const first = Math.max(from, limits.eventEarliest);
  return { from: utcDay(first), to: utcDay(end) };
}
