/** One reading of the months as a line, and behind it that of the time compared with. */
import { LineChart } from "../../charts/line.js";
import { intervalTick } from "../../format/dates.js";
import { useAnnotations } from "../../shell/annotations.js";
import { daysOf, firstDay, labelOf, type Month } from "./months.js";

type Row<Field extends string> = Month & Readonly<Record<Field, number | null>>;

export function MonthsLine<Field extends string>(props: {
  readonly label: string;
  readonly rows: readonly Row<Field>[];
  readonly then: readonly Row<Field>[] | undefined;
  readonly field: Field;
  readonly hrefOf: (row: Row<Field>) => string;
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
}) {
  const { label, rows, then, field, hrefOf, format, formatAxis } = props;
  const noteOf = useAnnotations();
  return (
    <LineChart
      label={label}
      points={rows.map((row, index) => ({
        key: row.month,
        tick: intervalTick(firstDay(row), "month"),
        label: labelOf(row),
        value: row[field],
        compared: then?.[index]?.[field] ?? undefined,
        note: noteOf(firstDay(row), daysOf(row).to),
        href: hrefOf(row),
      }))}
      format={format}
      formatAxis={formatAxis}
    />
  );
}
