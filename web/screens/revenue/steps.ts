/** The steps from gross to net. What was lost has the colours of losses. */
import type { RevenueAnswer } from "../../../api/revenue/schema.js";
import type { Step } from "../../charts/waterfall.js";
import type { View } from "../../state/view.js";

export function stepsOf(totals: RevenueAnswer["data"]["totals"], view: View): readonly Step[] {
  const all = view.to("/transactions");
  const step = (label: string, value: number, more: Partial<Step> = {}): Step => ({
    key: label,
    label,
    value,
    isBalance: false,
    tone: "contraction",
    href: all,
    ...more,
  });
  return [
    step("Gross", totals.gross, { isBalance: true, tone: "balance" }),
    step("Refunds", totals.refunds, {
      tone: "churn",
      href: view.to("/transactions", { status: "refunded" }),
    }),
    step("Disputes", totals.disputes, {
      tone: "churn",
      href: view.to("/transactions", { status: "disputed" }),
    }),
    step("Revenue", totals.revenue, { isBalance: true, tone: "accent" }),
    step("Tax", -totals.tax),
    step("Fees", -(totals.fees ?? 0)),
    step("Net", totals.net, { isBalance: true, tone: "balance" }),
  ];
}
