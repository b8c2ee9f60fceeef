/** The eight figures, each with its comparison and a small line, each a link to its screen. */
import type { RevenueAnswer } from "../../../api/revenue/schema.js";
import type { SummaryAnswer, SummaryFigures } from "../../../api/summary/schema.js";
import { Spark } from "../../charts/spark.js";
import type { DefinitionName } from "../../definitions.js";
import {
  change,
  count,
  decimal,
  money,
  percent,
  roundMoney,
  signedMoney,
  signedRoundMoney,
} from "../../format/numbers.js";
import { Delta } from "../../parts/delta.js";
import { Skeleton } from "../../parts/states.js";
import { Term } from "../../parts/term.js";
import { dayAfter, dayText } from "../../state/ranges.js";
import { type View, useView } from "../../state/view.js";

/** What the summary says of the end of the period, and how each is written and opened. */
const summaryCells = [
  { of: "mrr", field: "mrr", format: "money", path: "/mrr" },
  { of: "netNew", field: "net_new_mrr", format: "signed", path: "/mrr" },
  { of: "subscribers", field: "active_subscribers", format: "count", path: "/accounts" },
  { of: "arr", field: "arr", format: "money", path: "/mrr" },
  { of: "arpa", field: "arpa", format: "cents", path: "/accounts" },
  {
    of: "customerChurn",
    field: "customer_churn_rate_pct",
    format: "percent",
    path: "/mrr/movements",
  },
  { of: "quickRatio", field: "quick_ratio", format: "ratio", path: "/mrr" },
] as const satisfies readonly {
  of: DefinitionName;
  field: keyof SummaryFigures;
  format: Format;
  path: string;
}[];

type Format = "money" | "cents" | "signed" | "count" | "percent" | "ratio";

export function Figures(props: {
  readonly summary: SummaryAnswer["data"] | undefined;
  readonly revenue: RevenueAnswer["data"] | undefined;
  readonly isStale: boolean;
}) {
  const view = useView();
  const { summary, revenue } = props;
  const currency = summary?.currency ?? "USD";
  const cells = summaryCells.map(({ of, field, format, path }) => (
    <Cell
      key={of}
      of={of}
      href={view.to(path, of === "customerChurn" ? { kind: "churn" } : {})}
      value={summary?.[field]}
      then={summary?.compare?.[field]}
      format={format}
      currency={currency}
      isInverse={of === "customerChurn"}
      whatChanged={of === "mrr" ? whatChanged(view, summary?.compare?.until) : undefined}
      spark={(summary?.series ?? []).map((row) => row[field] ?? 0)}
    />
  ));
  cells.splice(
    3,
    0,
    <Cell
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

function Cell(props: {
  readonly of: DefinitionName;
  readonly href: string;
  /** Undefined while it is on its way, null when there is none. */
  readonly value: number | null | undefined;
  readonly then: number | null | undefined;
  readonly format: Format;
  readonly currency: string;
  readonly isInverse?: boolean;
  /** Where the difference is explained. */
  readonly whatChanged?: string | undefined;
  readonly spark: readonly number[];
}) {
  const { value, then, format, currency } = props;
  const text = textOf(value, format, currency);
  const compared =
    typeof value === "number" && typeof then === "number" ? change(value, then) : undefined;
  return (
    <div class="figure-cell">
      <Term of={props.of} />
      <a class="value" href={props.href} title={exactText(value, format, currency)}>
        {text ?? <Skeleton of="12,345" />}
      </a>
      <div class="beside">
        {compared === undefined ? (
          <span />
        ) : (
          <>
            {props.whatChanged === undefined ? (
              <Delta change={compared} isInverse={props.isInverse === true} />
            ) : (
              <a class="delta-link" href={props.whatChanged} title="What changed">
                <span class="unseen">What changed: </span>
                <Delta change={compared} isInverse={props.isInverse === true} />
              </a>
            )}
            <span class="soft" title={`Compared with ${exactText(then, format, currency) ?? ""}`}>
              {textOf(then, format, currency)}
            </span>
          </>
        )}
      </div>
      <Spark values={props.spark} />
    </div>
  );
}

function textOf(
  value: number | null | undefined,
  format: Format,
  currency: string,
): string | undefined {
  if (value === undefined) return undefined;
  if (value === null) return "–";
  switch (format) {
    case "money":
      return roundMoney(value, currency);
    case "cents":
      return money(value, currency);
    case "signed":
      return signedRoundMoney(value, currency);
    case "count":
      return count(value);
    case "percent":
      return percent(value, 2);
    case "ratio":
      return decimal(value);
    default:
      return format satisfies never;
  }
}

/** With all its cents. */
function exactText(
  value: number | null | undefined,
  format: Format,
  currency: string,
): string | undefined {
  if (typeof value !== "number") return undefined;
  if (format === "money") return money(value, currency);
  if (format === "signed") return signedMoney(value, currency);
  return textOf(value, format, currency);
}
