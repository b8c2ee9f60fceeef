/** Free trials by month of their start, and what became of them. */
import type { MonthTrials } from "../../../api/trials/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { Figure } from "../../charts/figure.js";
import { LineChart } from "../../charts/line.js";
import type { DefinitionName } from "../../definitions.js";
import { intervalTick } from "../../format/dates.js";
import { count, percent } from "../../format/numbers.js";
import { FigureCell, type Format, textOf } from "../../parts/figure-cell.js";
import { Failure } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { useAnnotations } from "../../shell/annotations.js";
import { useView } from "../../state/view.js";
import { compareParams } from "../compare-params.js";
import { SeriesExports } from "../series-exports.js";
import { Title } from "../titles.js";
import { daysOf, firstDay, labelOf, legendOf } from "./months.js";

const path = "/v1/metrics/trials";

const kinds = [
  { of: "trialsStarted", field: "started", format: "count", isInverse: false },
  { of: "trialsConverted", field: "converted", format: "count", isInverse: false },
  { of: "trialsLost", field: "lost", format: "count", isInverse: true },
  { of: "trialsOpen", field: "open", format: "count", isInverse: false },
  { of: "trialConversion", field: "conversion_rate_pct", format: "percent", isInverse: false },
] as const satisfies readonly {
  readonly of: DefinitionName;
  readonly field: keyof MonthTrials;
  readonly format: Format;
  readonly isInverse: boolean;
}[];
type Kind = (typeof kinds)[number];

/** Nothing where there is none, now and in the time compared with. */
export function Trials() {
  const view = useView();
  const { provider, ...others } = view.mrrFilters;
  const params = { ...view.asked, provider, ...compareParams(view) };
  const { answer, error, isStale } = useAnswer(path, params);
  const noteOf = useAnnotations();
  if (error !== null) return <Failure error={error} />;
  const data = answer?.data;
  const then = data?.compare;
  if (data === undefined || data.started + (then?.started ?? 0) === 0) return null;
  const { series } = data;
  const shown = kinds.find(({ of }) => of === view.get("trials")) ?? kinds[0];
  return (
    <>
      <h2 class="table-title">Trials</h2>
      <p class="soft intro">
        By the month in which they began; one may still convert later.
        {Object.keys(others).length === 0 ? "" : " Of the filters only the provider applies."}
      </p>
      <section
        class={isStale ? "figures fifths is-stale" : "figures fifths"}
        aria-label="Trials of these months"
      >
        {kinds.map(({ of, field, format, isInverse }) => (
          <FigureCell
            key={of}
            of={of}
            href={view.with({ trials: of })}
            value={data[field]}
            then={then?.[field]}
            format={format}
            currency=""
            isInverse={isInverse}
            isCurrent={of === shown.of}
            spark={series.map((row) => row[field] ?? 0)}
          />
        ))}
      </section>
      <Figure
        title={<Title of={shown.of}>{answerOf(series, shown)}</Title>}
        name={shown.of}
        isStale={isStale}
        legend={legendOf(then, view)}
        exports={<SeriesExports path={path} params={params} />}
        table={<TrialsTable rows={series} />}
      >
        <LineChart
          label="By month of start; the arrow keys move, Enter shows that month alone"
          points={series.map((row, index) => ({
            key: row.month,
            tick: intervalTick(firstDay(row), "month"),
            label: labelOf(row),
            value: row[shown.field],
            compared: then?.series[index]?.[shown.field] ?? undefined,
            note: noteOf(firstDay(row), daysOf(row).to),
            href: view.withRange(daysOf(row)),
          }))}
          format={(value) => textOf(value, shown.format, "") ?? ""}
          formatAxis={(value) => axisText(value, shown)}
        />
      </Figure>
      <h3 class="table-title">Trials by month</h3>
      <TrialsTable rows={series.toReversed()} />
    </>
  );
}

function TrialsTable(props: { readonly rows: readonly MonthTrials[] }) {
  return (
    <Table
      caption="Trials by month of their start"
      rows={props.rows}
      rowKey={({ month }) => month}
      columns={[
        { key: "month", head: "Month", cell: labelOf },
        ...kinds.map(({ of, field, format }) => ({
          key: of,
          head: <Term of={of} />,
          isNumber: true,
          cell: (row: MonthTrials) => textOf(row[field], format, ""),
        })),
      ]}
    />
  );
}

/** `were 41 in October`: of the last month that is over, where there is one. */
function answerOf(series: readonly MonthTrials[], { field, format }: Kind): string | null {
  const row = series.findLast((each) => each.is_whole) ?? series.at(-1);
  const text = row && textOf(row[field], format, "");
  if (row === undefined || text === undefined) return null;
  return `${format === "percent" ? "was" : "were"} ${text} in ${labelOf(row)}`;
}

/** There is no half of a trial. */
function axisText(value: number, { format }: Kind): string {
  if (format === "percent") return percent(value, 0);
  return Number.isInteger(value) ? count(value) : "";
}
