/** Rates of a month: churn, LTV, ARPA and quick ratio, each over time. */
import type { MonthRates, RatesAnswer, RatesOfMonths } from "../../../api/rates/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { Figure } from "../../charts/figure.js";
import { month as monthName } from "../../format/dates.js";
import { decimal, percent, shortMoney } from "../../format/numbers.js";
import { FigureCell, textOf } from "../../parts/figure-cell.js";
import { Empty, Failure } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { NoteList } from "../../shell/annotations.js";
import { Bar } from "../../shell/bar.js";
import { mrrFilterNames, useView } from "../../state/view.js";
import { connectAction } from "../connect-action.js";
import { compareParams } from "../compare-params.js";
import { SeriesExports } from "../series-exports.js";
import { Title } from "../titles.js";
import { FailedPayments } from "./failed-payments.js";
import { type Rate, rateOf, rates } from "./kinds.js";
import { MonthsLine } from "./months-line.js";
import { daysOf, firstDay, labelOf, legendOf, newestWhole } from "./months.js";
import { Trials } from "./trials.js";

const path = "/v1/metrics/rates";

export default function Rates() {
  const view = useView();
  const params = { ...view.asked, ...view.mrrFilters, ...compareParams(view) };
  const { answer, error, isStale } = useAnswer(path, params);
  const data = answer?.data;
  const then = data?.compare;
  const series = data?.series ?? [];
  const currency = data?.currency ?? "USD";
  const shown = rateOf(view.get("of"));
  const isEmpty = data !== undefined && series.every((row) => row.start_mrr === 0 && row.mrr === 0);
  return (
    <>
      <Bar
        title="Churn and LTV"
        controls={{
          range: true,
          compare: true,
          filters: mrrFilterNames,
        }}
      />
      <Failure error={error} />
      {isEmpty ? (
        <Empty title="No recurring revenue in these months" action={connectAction(view)}>
          Choose a longer range or fewer filters, or connect a provider that sells subscriptions.
        </Empty>
      ) : (
        <>
          <p class="soft intro">
            {data === undefined ? "\u00a0" : monthsText(data)}
            {then === undefined || then === null ? "" : ` Compared with ${comparedText(then)}.`}
          </p>
          <section
            class={isStale ? "figures thirds is-stale" : "figures thirds"}
            aria-label="Rates of a month"
          >
            {rates.map(({ of, field, format, isInverse, sentence }) => (
              <FigureCell
                key={of}
                of={of}
                href={view.with({ of })}
                value={data?.[field]}
                then={then?.[field]}
                format={format}
                currency={currency}
                isInverse={isInverse}
                isCurrent={of === shown.of}
                sentence={sentence}
                spark={series.map((row) => row[field] ?? 0)}
              />
            ))}
          </section>
          <Figure
            title={<Title of={shown.of}>{answerOf(series, shown, currency)}</Title>}
            name={shown.of}
            isStale={isStale}
            legend={legendOf(then, view)}
            exports={<SeriesExports path={path} params={params} />}
            table={<RatesTable rows={series} currency={currency} />}
          >
            <MonthsLine
              label="By month; the arrow keys move, Enter opens its movements"
              rows={series}
              then={then?.series}
              field={shown.field}
              hrefOf={(row) =>
                view.to("/mrr/movements", { ...daysOf(row), ...kindOf(shown), range: null })
              }
              format={(value) => textOf(value, shown.format, currency) ?? ""}
              formatAxis={(value) => axisText(value, shown, currency)}
            />
          </Figure>
          <NoteList />
          <h2 class="table-title">By month</h2>
          <RatesTable rows={series.toReversed()} currency={currency} />
        </>
      )}
      <Trials />
      <FailedPayments />
    </>
  );
}

function RatesTable(props: { readonly rows: readonly MonthRates[]; readonly currency: string }) {
  const view = useView();
  return (
    <Table
      caption="Rates by month"
      rows={props.rows}
      rowKey={({ month }) => month}
      columns={[
        {
          head: "Month",
          cell: (row) => (
            <a
              class="row-link tight"
              href={view.to("/mrr/movements", { ...daysOf(row), range: null })}
            >
              {labelOf(row)}
            </a>
          ),
        },
        ...rates.map(({ of, field, format }) => ({
          head: <Term of={of} />,
          isNumber: true,
          cell: (row: MonthRates) => textOf(row[field], format, props.currency),
        })),
      ]}
    />
  );
}

/** Which months the figures are of. */
function monthsText({ series, whole_months: whole }: RatesAnswer["data"]): string {
  const over = series.filter((row) => row.is_whole);
  const [first, last] = [over[0] ?? series[0], over.at(-1) ?? series.at(-1)];
  if (first === undefined || last === undefined) return "";
  if (whole === 0) return `Of ${labelOf(first)}.`;
  if (whole === 1) return `Churn of ${labelOf(last)}.`;
  const months = `the ${whole} whole months from ${labelOf(first)} to ${labelOf(last)}`;
  return `Churn is monthly: the average of ${months}.`;
}

/** The months that churn is the mean of; a running one is compared up to the same day. */
function comparedText({ series }: RatesOfMonths): string {
  const whole = series.filter((row) => row.is_whole);
  const months = whole.length > 0 ? whole : series;
  const [first, last] = [months[0], months.at(-1)].map((row) => row && monthName(firstDay(row)));
  return first === last ? (first ?? "") : `${first} to ${last}`;
}

/** `was 4.52% in October`: of the last month that is over, where there is one. */
function answerOf(series: readonly MonthRates[], shown: Rate, currency: string): string | null {
  const row = newestWhole(series);
  const text = row && textOf(row[shown.field], shown.format, currency);
  if (row === undefined || text === undefined) return null;
  return `was ${text} in ${labelOf(row)}`;
}

function kindOf({ of }: Rate): { readonly kind?: string } {
  return of === "customerChurn" || of === "ltv" ? { kind: "churn" } : {};
}

function axisText(value: number, { format }: Rate, currency: string): string {
  if (format === "cents") return shortMoney(value, currency);
  const digits = Number.isInteger(value) ? 0 : 1;
  return format === "percent" ? percent(value, digits) : decimal(value, digits);
}
