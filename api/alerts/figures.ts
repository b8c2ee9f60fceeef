/** The figures an alert can watch: the call of the interface that answers each, and its kind. */
import type { AlertFigure } from "../../schemas/http/outbound/alerts.js";
import type { Series } from "./conditions.js";

interface Watchable extends Pick<Series, "isBalance" | "grows"> {
  readonly name: string;
  readonly unit: "money" | "count" | "percent" | "ratio";
}

const balance = { isBalance: true, grows: null } as const;
/** Known only when its interval is over: until then it may go either way. */
const ofWhole = { isBalance: false, grows: null } as const;
const growing = { isBalance: false, grows: "up" } as const;
/** Below 0 in the interface. */
const falling = { isBalance: false, grows: "down" } as const;

export const watchable: Readonly<Record<AlertFigure, Watchable>> = {
  mrr: { name: "MRR", unit: "money", ...balance },
  arr: { name: "ARR", unit: "money", ...balance },
  net_new_mrr: { name: "Net new MRR", unit: "money", ...ofWhole },
  active_subscribers: { name: "Active subscribers", unit: "count", ...balance },
  arpa: { name: "ARPA", unit: "money", ...balance },
  ltv: { name: "LTV", unit: "money", ...ofWhole },
  quick_ratio: { name: "Quick ratio", unit: "ratio", ...ofWhole },
  customer_churn_rate_pct: { name: "Customer churn", unit: "percent", ...ofWhole },
  gross_revenue_churn_rate_pct: { name: "Gross MRR churn", unit: "percent", ...ofWhole },
  net_revenue_churn_rate_pct: { name: "Net MRR churn", unit: "percent", ...ofWhole },
  revenue: { name: "Revenue", unit: "money", ...growing },
  gross: { name: "Gross sales", unit: "money", ...growing },
  refunds: { name: "Refunds", unit: "money", ...falling },
  disputes: { name: "Disputes", unit: "money", ...falling },
  net: { name: "Net revenue", unit: "money", ...growing },
  sales: { name: "Sales", unit: "count", ...growing },
};
