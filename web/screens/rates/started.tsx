/** What is counted by the month in which it began: readings, a line of one of them, and a table. */
import type { Answers } from "../../api/answers.js";
import { Figure } from "../../charts/figure.js";
import type { Definition } from "../../definitions.js";
import { count, percent, shortMoney } from "../../format/numbers.js";
import { FigureCell, type Format, textOf } from "../../parts/figure-cell.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { useView } from "../../state/view.js";
import { compareParams } from "../compare-params.js";
import { SeriesExports } from "../series-exports.js";
import { Title } from "../titles.js";
import { MonthsLine } from "./months-line.js";
import { daysOf, labelOf, legendOf, type Month, newestWhole } from "./months.js";

export interface Kind<Field extends string> {
  /** In the address, where it is the one shown over time. */
  readonly name: string;
  readonly of: Definition;
  /** The name at the head of a column. */
  readonly head: string;
  readonly field: Field;
  readonly format: Extract<Format, "count" | "percent" | "money">;
  /** Less is better. */
  readonly isInverse: boolean;
}

type Figures<Field extends string> = Readonly<Record<Field, number | null>>;
type Row<Field extends string> = Month & Figures<Field>;
type Months<Field extends string> = Figures<Field> & { readonly series: readonly Row<Field>[] };

interface StartedProps<Field extends string> {
  readonly heading: string;
  readonly intro: string;
  readonly path: keyof Answers;
  readonly params: ReturnType<typeof useStartedParams>;
  readonly kinds: readonly [Kind<Field>, ...Kind<Field>[]];
  readonly data: Months<Field> & { readonly compare?: Months<Field> | null | undefined };
  readonly isStale: boolean;
  readonly currency: string;
  /** The name in the address that says which is shown over time. */
  readonly chosenBy: "trials" | "failed";
}

/** Of the filters only the provider and a segment apply. */
export function useStartedParams() {
  const view = useView();
  const { provider, segment } = view.mrrFilters;
  return { ...view.asked, provider, segment, ...compareParams(view) };
}

export function Started<Field extends string>(props: StartedProps<Field>) {
  const { heading, path, params, kinds, data, isStale, currency, chosenBy } = props;
  const view = useView();
  const { provider: _, segment: _segment, ...others } = view.mrrFilters;
  const { series, compare: then } = data;
  const shown = kinds.find(({ name }) => name === view.get(chosenBy)) ?? kinds[0];
  const table = { heading, kinds, currency };
  return (
    <>
      <h2 class="table-title">{heading}</h2>
      <p class="soft intro">
        {props.intro}
        {Object.keys(others).length === 0
          ? ""
          : " Of the filters only providers and segments apply."}
      </p>
      <section
        class={isStale ? "figures fifths is-stale" : "figures fifths"}
        aria-label={`${heading} of these months`}
      >
        {kinds.map(({ name, of, field, format, isInverse }) => (
          <FigureCell
            key={name}
            of={of}
            href={view.with({ [chosenBy]: name })}
            value={data[field]}
            then={then?.[field]}
            format={format}
            currency={currency}
            isInverse={isInverse}
            isCurrent={name === shown.name}
            spark={series.map((row) => row[field] ?? 0)}
          />
        ))}
      </section>
      <Figure
        title={<Title of={shown.of}>{answerOf(series, shown, currency)}</Title>}
        name={shown.name}
        isStale={isStale}
        legend={legendOf(then, view)}
        exports={<SeriesExports path={path} params={params} />}
        table={<MonthsTable rows={series} {...table} />}
      >
        <MonthsLine
          label="By month of start; the arrow keys move, Enter shows that month alone"
          rows={series}
          then={then?.series}
          field={shown.field}
          hrefOf={(row) => view.withRange(daysOf(row))}
          format={(value) => textOf(value, shown.format, currency) ?? ""}
          formatAxis={(value) => axisText(value, shown.format, currency)}
        />
      </Figure>
      <h3 class="table-title">{heading} by month</h3>
      <MonthsTable rows={series.toReversed()} {...table} />
    </>
  );
}

function MonthsTable<Field extends string>(
  props: Pick<StartedProps<Field>, "heading" | "kinds" | "currency"> & {
    readonly rows: readonly Row<Field>[];
  },
) {
  return (
    <Table
      caption={`${props.heading} by month of their start`}
      rows={props.rows}
      rowKey={({ month }) => month}
      columns={[
        { head: "Month", cell: labelOf },
        ...props.kinds.map(({ of, head, field, format }) => ({
          head: <Term of={of} label={head} />,
          isNumber: true,
          cell: (row: Row<Field>) => textOf(row[field], format, props.currency),
        })),
      ]}
    />
  );
}

/** `were 41 in October`: of the last month that is over, where there is one. */
function answerOf<Field extends string>(
  series: readonly Row<Field>[],
  { field, format }: Kind<Field>,
  currency: string,
): string | null {
  const row = newestWhole(series);
  const text = row && textOf(row[field], format, currency);
  if (row === undefined || text === undefined) return null;
  return `${format === "count" ? "were" : "was"} ${text} in ${labelOf(row)}`;
}

/** What is counted has no halves. */
function axisText(value: number, format: Kind<string>["format"], currency: string): string {
  if (format === "percent") return percent(value, 0);
  if (format === "money") return shortMoney(value, currency);
  return Number.isInteger(value) ? count(value) : "";
}
