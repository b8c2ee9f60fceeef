/** The fields of the form as the rule they mean; null while something is missing. Pure. */
import type {
  AlertCondition,
  AlertFigure,
  AlertRule,
  FigureRule,
} from "../../../../schemas/http/outbound/alerts.js";

export const figureNames = {
  mrr: "MRR",
  arr: "ARR",
  net_new_mrr: "Net new MRR",
  active_subscribers: "Active subscribers",
  arpa: "ARPA",
  ltv: "LTV",
  quick_ratio: "Quick ratio",
  customer_churn_rate_pct: "Customer churn, %",
  gross_revenue_churn_rate_pct: "Gross MRR churn, %",
  net_revenue_churn_rate_pct: "Net MRR churn, %",
  revenue: "Revenue",
  gross: "Gross sales",
  refunds: "Refunds (below 0)",
  disputes: "Disputes (below 0)",
  net: "Net revenue",
  sales: "Number of sales",
} as const satisfies Readonly<Record<AlertFigure, string>>;

export const conditionNames = {
  above: "goes above",
  below: "goes below",
  change: "changes by",
  unusual: "is outside of what is usual",
} as const satisfies Readonly<Record<AlertCondition["is"], string>>;

export const intervalNames = { day: "day", week: "week", month: "month" } as const;
export const wayNames = { down: "down", up: "up", either: "up or down" } as const;

export interface Fields {
  /** A figure, or what else is watched. */
  readonly on: AlertFigure | Exclude<AlertRule["on"], "figure">;
  readonly interval: keyof typeof intervalNames;
  readonly is: AlertCondition["is"];
  readonly way: keyof typeof wayNames;
  readonly unit: "percent" | "amount";
  /** Numbers as they are typed. */
  readonly value: string;
  readonly over: string;
  readonly deviations: string;
  readonly hours: string;
  readonly count: string;
  readonly integration: string;
}

export const firstFields: Fields = {
  on: "mrr",
  interval: "day",
  is: "below",
  way: "down",
  unit: "percent",
  value: "",
  over: "7",
  deviations: "3",
  hours: "6",
  count: "0",
  integration: "",
};

/** The same the other way round: what the form of an alert begins with. */
export function fieldsOf(rule: AlertRule): Fields {
  if (rule.on !== "figure") {
    const integration = "integration" in rule ? (rule.integration ?? "") : "";
    const of = { ...firstFields, on: rule.on, integration };
    if (rule.on === "silence") return { ...of, hours: String(rule.hours) };
    return { ...of, count: String(rule.above) };
  }
  const { figure, interval, condition } = rule;
  const of = { ...firstFields, on: figure, interval, is: condition.is };
  if (condition.is === "unusual") return { ...of, deviations: String(condition.deviations) };
  if (condition.is !== "change") return { ...of, value: String(condition.value) };
  const { way, unit, by, over } = condition;
  return { ...of, way, unit, value: String(by), over: String(over) };
}

/** Weeks of the same day, or weeks or months before, that say what is usual. */
const periods = 8;

export function isFigure(on: Fields["on"]): on is AlertFigure {
  return Object.hasOwn(figureNames, on);
}

type PartOf = NonNullable<FigureRule["filters"]>;

export function ruleOf(fields: Fields, filters: PartOf): AlertRule | null {
  const { on } = fields;
  const integration = fields.integration === "" ? {} : { integration: fields.integration };
  const count = numberOf(fields.count);
  if (isFigure(on)) {
    const condition = conditionOf(fields);
    const only = Object.keys(filters).length === 0 ? {} : { filters };
    const rule = { on: "figure", figure: on, interval: fields.interval, ...only } as const;
    return condition && { ...rule, condition };
  }
  if (on === "silence") {
    const hours = numberOf(fields.hours);
    return hours === null ? null : { on, hours, ...integration };
  }
  if (count === null) return null;
  return on === "rejects" ? { on, above: count } : { on, above: count, ...integration };
}

function conditionOf({
  is,
  way,
  unit,
  value: text,
  over: overText,
  deviations: deviationsText,
}: Fields): AlertCondition | null {
  const [value, over, deviations] = [text, overText, deviationsText].map(numberOf);
  if (is === "unusual") {
    return typeof deviations === "number" ? { is, deviations, periods } : null;
  }
  if (typeof value !== "number") return null;
  if (is !== "change") return { is, value };
  return typeof over === "number" ? { is, way, by: value, unit, over } : null;
}

function numberOf(text: string): number | null {
  return text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
}
