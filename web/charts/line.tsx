/** A figure over time, with what it is compared with as a dashed line. Each point is a link. */
import { scaleLinear } from "d3-scale";
import { area as areaOf, line as lineOf } from "d3-shape";
import { useState } from "preact/hooks";
import { ColumnAxis, ValueAxis } from "./axes.js";
import { GoalLine, NoteMarkers } from "./marks.js";
import { type ChartHeight, useFrame } from "./frame.js";
import { moveFocus } from "./roving.js";
import { Tip, type TipLine } from "./tip.js";
import type { Tone } from "./tones.js";

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

export function LineChart(props: {
  readonly label: string;
  readonly points: readonly Point[];
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
  readonly tone?: Tone;
  readonly height?: ChartHeight;
}) {
  const { points, format, tone = "accent" } = props;
  const { holder, frame } = useFrame();
  const [active, setActive] = useState<number | null>(null);
  const values = points.flatMap(({ value, compared, goal }) => [
    ...(value === null ? [] : [value]),
    ...[compared, goal].filter((one) => one !== undefined),
  ]);
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(1, ...values)])
    .nice()
    .range([frame.bottom, frame.top]);
  const step = (frame.right - frame.left) / Math.max(1, points.length - 1);
  const x = (index: number): number =>
    points.length === 1 ? (frame.left + frame.right) / 2 : frame.left + index * step;
  const shown = active === null ? undefined : points[active];
  const path = lineOf<Point>(
    (_point, index) => x(index),
    ({ value }) => y(value ?? 0),
  ).defined(({ value }) => value !== null)([...points]);
  const area = areaOf<Point>(
    (_point, index) => x(index),
    y(0),
    ({ value }) => y(value ?? 0),
  ).defined(({ value }) => value !== null)([...points]);
  const then = lineOf<Point>(
    (_point, index) => x(index),
    (point) => y(point.compared ?? 0),
  ).defined((point) => point.compared !== undefined)([...points]);

  return (
    <div class={`chart ${props.height ?? ""}`} ref={holder}>
      {frame.width === 0 ? null : (
        <svg
          class={`tone-${tone}`}
          role="group"
          aria-label={props.label}
          onKeyDown={moveFocus}
          onPointerLeave={() => setActive(null)}
        >
          {/* Without values, as while they are on their way, any scale would be made up. */}
          {points.length === 0 ? null : (
            <ValueAxis frame={frame} scale={y} format={props.formatAxis} />
          )}
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
              <rect
                class="hit"
                x={x(index) - step / 2}
                y={frame.top}
                width={points.length === 1 ? 40 : step}
                height={frame.bottom - frame.top}
              />
            </a>
          ))}
        </svg>
      )}
      {shown === undefined || active === null ? null : (
        <Tip frame={frame} x={x(active)} title={shown.label} lines={linesOf(shown, format, tone)} />
      )}
    </div>
  );
}

function linesOf(point: Point, format: (value: number) => string, tone: Tone): TipLine[] {
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
