/** The newest vintages as curves, their average, and that of the vintages compared with. */
import type { ComponentChildren } from "preact";
import { type Curve, CurveChart } from "../../charts/curves.js";
import { Figure } from "../../charts/figure.js";
import { groupTones } from "../../charts/tones.js";
import { vintageName } from "../../format/dates.js";
import { words } from "../../format/names.js";
import { percent } from "../../format/numbers.js";
import { Table } from "../../parts/table.js";
import { comparisons } from "../../shell/bar.js";
import { useView } from "../../state/view.js";
import { Title } from "../titles.js";
import type { Row } from "./retention.js";

const shownMax = 6;

export function Curves(props: {
  readonly rows: readonly Row[];
  readonly average: readonly number[];
  readonly then: readonly number[];
  readonly interval: "month" | "quarter" | "year";
  readonly exports: ComponentChildren;
  readonly isStale: boolean;
}) {
  const view = useView();
  const { rows, average, then, interval } = props;
  const length = Math.max(0, ...rows.map(({ curve }) => curve.length));
  const newest = rows
    // Of one that has only begun there is no line.
    .filter(({ curve }) => curve.length > 1)
    .slice(-shownMax)
    .toReversed();
  const curves: readonly Curve[] = [
    { label: "Average", tone: "accent", values: average, isMain: true },
    ...(then.length === 0
      ? []
      : [
          {
            label: comparisons[view.comparison],
            tone: "then" as const,
            values: then.slice(0, length),
          },
        ]),
    ...newest.map(({ vintage, curve }, index) => ({
      label: vintageName(vintage),
      tone: groupTones[index] ?? ("others" as const),
      values: curve,
    })),
  ];
  const nameOf = (age: number): string =>
    age === 0 ? "At the beginning" : `${words(interval)} ${age}`;
  return (
    <Figure
      title={<Title of="averageRetention">{answerOf(average, interval)}</Title>}
      name="retention"
      isStale={props.isStale}
      legend={curves.map(({ label, tone }) => ({ label, tone }))}
      exports={props.exports}
      table={
        <Table
          caption="Average retention by age"
          rows={Array.from({ length: Math.max(average.length, 1) }, (_age, age) => age)}
          rowKey={String}
          columns={[
            { head: "Age", cell: nameOf },
            ...curves.map(({ label, values }) => ({
              head: label,
              isNumber: true,
              cell: (age: number) => textOf(values[age]),
            })),
          ]}
        />
      }
    >
      <CurveChart
        label={`Retention by age in ${interval}s; the arrow keys move`}
        curves={curves}
        nameOf={nameOf}
        format={(value) => percent(value, 1)}
        formatAxis={(value) => percent(value, 0)}
      />
    </Figure>
  );
}

/** `is 98.4% after 12 months`: after a year, or as long as there is an average. */
function answerOf(average: readonly number[], interval: keyof typeof inYear): string | null {
  const age = Math.min(inYear[interval], average.length - 1);
  const value = average[age];
  if (value === undefined || age === 0) return null;
  return `is ${textOf(value)} after ${age} ${interval}${age === 1 ? "" : "s"}`;
}

const inYear = { month: 12, quarter: 4, year: 1 } as const;

function textOf(value: number | undefined): string {
  return value === undefined ? "–" : percent(value, 1);
}
