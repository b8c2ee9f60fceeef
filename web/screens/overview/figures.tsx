/** The eight figures, each with its comparison and a small line, each a link to its screen. */
import type { MonthRates, RatesAnswer } from "../../../api/rates/schema.js";
import type { RevenueAnswer } from "../../../api/revenue/schema.js";
import type { SummaryAnswer, SummaryFigures } from "../../../api/summary/schema.js";
import type { DefinitionName } from "../../definitions.js";
import { type Format, FigureCell } from "../../parts/figure-cell.js";
import type { RateName } from "../rates/kinds.js";
import { dayAfter, dayText } from "../../state/ranges.js";
import { type View, useView } from "../../state/view.js";

/** What the summary says of the end of the period, and how each is written and opened. */
const summaryCells = [
  { of: "mrr", field: "mrr", format: "money", path: "/mrr" },
  { of: "netNew", field: "net_new_mrr", format: "signed", path: "/mrr" },
  { of: "subscribers", field: "active_subscribers", format: "count", path: "/accounts" },
  { of: "arr", field: "arr", format: "money", path: "/mrr" },
  { of: "arpa", field: "arpa", format: "cents", path: "/accounts" },
] as const satisfies readonly {
  of: DefinitionName;
  field: keyof SummaryFigures;
  format: Format;
  path: string;
}[];

/** Those of a month, whatever the range. */
const rateCells = [
  { of: "customerChurn", field: "customer_churn_rate_pct", format: "percent" },
  { of: "quickRatio", field: "quick_ratio", format: "ratio" },
] as const satisfies readonly { of: RateName; field: keyof MonthRates; format: Format }[];

export function Figures(props: {
  readonly summary: SummaryAnswer["data"] | undefined;
  readonly rates: RatesAnswer["data"] | undefined;
  readonly revenue: RevenueAnswer["data"] | undefined;
  readonly isStale: boolean;
}) {
  const view = useView();
  const { summary, rates, revenue } = props;
  const currency = summary?.currency ?? "USD";
  const cells = summaryCells.map(({ of, field, format, path }) => (
    <FigureCell
      key={of}
      of={of}
      href={view.to(path)}
      value={summary?.[field]}
      then={summary?.compare?.[field]}
      format={format}
      currency={currency}
      whatChanged={of === "mrr" ? whatChanged(view, summary?.compare?.until) : undefined}
      spark={(summary?.series ?? []).map((row) => row[field] ?? 0)}
    />
  ));
  cells.splice(
    3,
    0,
    <FigureCell
      key="revenue"
      of="revenue"
      href={view.to("/revenue")}
      value={revenue?.totals.revenue}
      then={revenue?.compare?.revenue}
      format="money"
      currency={currency}
      spark={(revenue?.revenue ?? []).map((row) => row.revenue)}
    />,
  );
  return (
    <section class={props.isStale ? "figures is-stale" : "figures"} aria-label="Figures">
      {cells}
      {rateCells.map(({ of, field, format }) => (
        <FigureCell
          key={of}
          of={of}
          href={view.to("/rates", { of })}
          value={rates?.[field]}
          then={rates?.compare?.[field]}
          format={format}
          currency={currency}
          isInverse={of === "customerChurn"}
          spark={(rates?.series ?? []).map((row) => row[field] ?? 0)}
        />
      ))}
    </section>
  );
}

/** @param until the moment that MRR is compared with; the screen begins with the end of its day */
function whatChanged(view: View, until: string | undefined): string | undefined {
  if (until === undefined || view.comparison === "known") return undefined;
  const against = dayAfter(dayText(Date.parse(until) - 1));
  const { rangeName } = view;
  const range = rangeName === "own" ? {} : { range: rangeName };
  return view.to("/what-changed", { ...range, against });
}
