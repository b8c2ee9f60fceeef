/** A figure over time, with what it is compared with as a dashed line. Each point is a link. */
import { area as areaOf, line as lineOf } from "d3-shape";
import { ColumnAxis, ValueAxis, valueScale } from "./axes.js";
import { Chart, Hit } from "./chart.js";
import { GoalLine, NoteMarkers } from "./marks.js";
import { useFrame } from "./frame.js";
import type { TipLine } from "./tip.js";

export interface Point {
  readonly key: string;
  /** Below the chart. */
  readonly tick: string;
  /** In words. */
  readonly label: string;
  /** Null: there is none, and the line has a gap. */
  readonly value: number | null;
  /** The same of what it is compared with. */
  readonly compared?: number | undefined;
  readonly href: string;
  readonly note?: string | undefined;
  /** What it is meant to be. */
  readonly goal?: number | undefined;
}

const tone = "accent";

export function LineChart(props: {
  readonly label: string;
  readonly points: readonly Point[];
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
  readonly isHigh?: boolean | undefined;
}) {
  const { points, format } = props;
  const of = useFrame();
  const { frame, active, setActive } = of;
  const values = points.flatMap(({ value, compared, goal }) => [
    ...(value === null ? [] : [value]),
    ...[compared, goal].filter((one) => one !== undefined),
  ]);
  const y = valueScale(frame, values);
  const step = (frame.right - frame.left) / Math.max(1, points.length - 1);
  const x = (index: number): number =>
    points.length === 1 ? (frame.left + frame.right) / 2 : frame.left + index * step;
  const shown = active === null ? undefined : points[active];
  const tipOf = (index: number) => {
    const point = points[index];
    return point ? { x: x(index), title: point.label, lines: linesOf(point, format) } : null;
  };
  const across = (_point: Point, index: number): number => x(index);
  const up = ({ value }: Point): number => y(value ?? 0);
  const isThere = ({ value }: Point): boolean => value !== null;
  const path = lineOf(across, up).defined(isThere)([...points]);
  const area = areaOf(across, y(0), up).defined(isThere)([...points]);
  const then = lineOf(across, ({ compared }: Point) => y(compared ?? 0)).defined(
    ({ compared }) => compared !== undefined,
  )([...points]);

  return (
    <Chart of={of} label={props.label} isHigh={props.isHigh} tone={tone} tipOf={tipOf}>
      {/* Without values, as while they are on their way, any scale would be made up. */}
      {points.length === 0 ? null : <ValueAxis frame={frame} scale={y} format={props.formatAxis} />}
      <ColumnAxis frame={frame} labels={points.map(({ tick }) => tick)} x={x} />
      <path class="area" d={area ?? ""} />
      {then === null ? null : <path class="line then" d={then} />}
      <path class="line" d={path ?? ""} />
      <NoteMarkers frame={frame} notes={points.map(({ note }) => note)} x={x} />
      <GoalLine goals={points.map(({ goal }) => goal)} x={x} y={y} />
      {active === null || typeof shown?.value !== "number" ? null : (
        <circle class="dot" cx={x(active)} cy={y(shown.value)} r={5} />
      )}
      {points.map((point, index) => (
        <a
          key={point.key}
          href={point.href}
          data-column
          tabindex={index === points.length - 1 ? 0 : -1}
          aria-label={spoken(point, format)}
          onPointerEnter={() => setActive(index)}
          onFocus={() => setActive(index)}
          onBlur={() => setActive(null)}
        >
          <Hit frame={frame} middle={x(index)} width={step} />
        </a>
      ))}
    </Chart>
  );
}

function linesOf(point: Point, format: (value: number) => string): TipLine[] {
  const { value, compared, note, goal } = point;
  return [
    { label: "", value: textOf(value, format), tone },
    ...(compared === undefined ? [] : [{ label: "Compared with", value: format(compared) }]),
    ...(goal === undefined ? [] : [{ label: "Goal", value: format(goal) }]),
    ...(note === undefined ? [] : [{ label: "Note", value: note }]),
  ];
}

function spoken({ label, value, goal, note }: Point, format: (value: number) => string): string {
  const meant = goal === undefined ? "" : `, goal ${format(goal)}`;
  return `${label}: ${textOf(value, format)}${meant}${note === undefined ? "" : `. ${note}`}`;
}

function textOf(value: number | null, format: (value: number) => string): string {
  return value === null ? "–" : format(value);
}
