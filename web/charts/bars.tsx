/**
 * Stacked bars over time: what is above 0 stands up, what is below hangs down. Each column and each
 * segment is a link.
 */
import { ColumnAxis, ValueAxis, columnScale, valueScale } from "./axes.js";
import { Chart, Hit } from "./chart.js";
import { useFrame } from "./frame.js";
import { GoalLine, NoteMarkers } from "./marks.js";
import type { Tone } from "./tones.js";

interface Segment {
  readonly key: string;
  readonly label: string;
  readonly value: number;
  readonly tone: Tone;
  readonly href: string;
}

export interface Bar {
  readonly key: string;
  readonly tick: string;
  readonly label: string;
  readonly href: string;
  readonly segments: readonly Segment[];
  /** What the segments add up to, as the service says it. */
  readonly total?: number | undefined;
  readonly note?: string | undefined;
  /** What it is meant to be. */
  readonly goal?: number | undefined;
}

export function BarChart(props: {
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
  readonly isHigh?: boolean | undefined;
}) {
  const { bars, format } = props;
  const of = useFrame();
  const { frame, setActive } = of;
  const stacks = bars.map(({ segments }) => stackOf(segments));
  const ends = [
    ...stacks.flatMap((stack) => stack.flatMap(({ low, high }) => [low, high])),
    ...bars.flatMap(({ goal }) => (goal === undefined ? [] : [goal])),
  ];
  const y = valueScale(frame, ends);
  const { x, middle } = columnScale(frame, bars.length, 0.28);
  const tipOf = (index: number) => {
    const shown = bars[index];
    if (shown === undefined) return null;
    const lines = [
      ...shown.segments
        .filter(({ value }) => value !== 0)
        .map(({ label, value, tone }) => ({ label, value: format(value), tone })),
      ...(shown.total === undefined ? [] : [{ label: "Together", value: format(shown.total) }]),
      ...(shown.goal === undefined ? [] : [{ label: "Goal", value: format(shown.goal) }]),
      ...(shown.note === undefined ? [] : [{ label: "Note", value: shown.note }]),
    ];
    return { x: middle(index), title: shown.label, lines };
  };

  return (
    <Chart of={of} label={props.label} isHigh={props.isHigh} tipOf={tipOf}>
      {bars.length === 0 ? null : <ValueAxis frame={frame} scale={y} format={props.formatAxis} />}
      <ColumnAxis frame={frame} labels={bars.map(({ tick }) => tick)} x={middle} />
      <NoteMarkers frame={frame} notes={bars.map(({ note }) => note)} x={middle} />
      {bars.map((bar, index) => (
        <g key={bar.key} onPointerEnter={() => setActive(index)}>
          <a
            href={bar.href}
            data-column
            tabindex={index === bars.length - 1 ? 0 : -1}
            aria-label={spoken(bar, format)}
            onFocus={() => setActive(index)}
            onBlur={() => setActive(null)}
          >
            <Hit frame={frame} middle={middle(index)} width={x.step()} />
          </a>
          {stacks[index]?.map(({ segment, low, high }) => (
            <a
              key={segment.key}
              href={segment.href}
              class={`segment-link tone-${segment.tone}`}
              // The column says the same to those who do not point.
              tabindex={-1}
              aria-hidden="true"
            >
              <rect
                class="segment"
                x={x(index)}
                width={x.bandwidth()}
                y={y(high)}
                height={Math.max(0, y(low) - y(high))}
              />
            </a>
          ))}
        </g>
      ))}
      <GoalLine goals={bars.map(({ goal }) => goal)} x={middle} y={y} />
    </Chart>
  );
}

interface Stacked {
  readonly segment: Segment;
  readonly low: number;
  readonly high: number;
}

function stackOf(segments: readonly Segment[]): Stacked[] {
  let up = 0;
  let down = 0;
  return segments
    .filter(({ value }) => value !== 0)
    .map((segment) => {
      if (segment.value > 0) {
        up += segment.value;
        return { segment, low: up - segment.value, high: up };
      }
      down += segment.value;
      return { segment, low: down, high: down - segment.value };
    });
}

function spoken(
  { label, segments, total, goal, note }: Bar,
  format: (value: number) => string,
): string {
  const parts = segments
    .filter(({ value }) => value !== 0)
    .map((segment) => `${segment.label} ${format(segment.value)}`);
  const together = total === undefined ? [] : [`together ${format(total)}`];
  const meant = goal === undefined ? [] : [`goal ${format(goal)}`];
  const said = note === undefined ? "" : `. ${note}`;
  return `${label}: ${[...parts, ...together, ...meant].join(", ")}${said}`;
}
