/** From one balance to the next, step by step. Each step is a link. */
import { ColumnAxis, ValueAxis, columnScale, valueScale } from "./axes.js";
import { Chart, Hit } from "./chart.js";
import { useFrame } from "./frame.js";
import type { Tone } from "./tones.js";

/** In little room the labels stand in two rows. */
const labelsBottomPx = 37;

export interface Step {
  readonly key: string;
  readonly label: string;
  /** Of a balance its height, else what the step adds. */
  readonly value: number;
  readonly isBalance: boolean;
  readonly tone: Tone;
  readonly href: string;
}

export function Waterfall(props: {
  readonly label: string;
  readonly steps: readonly Step[];
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
}) {
  const { steps, format } = props;
  const of = useFrame(labelsBottomPx);
  const { frame, setActive } = of;
  const spans = spansOf(steps);
  const values = spans.flatMap(({ low, high }) => [low, high]);
  const y = valueScale(frame, values);
  const { x, middle } = columnScale(frame, steps.length, 0.3);
  const tipOf = (index: number) => {
    const shown = steps[index];
    if (shown === undefined) return null;
    const line = { label: "", value: format(shown.value), tone: shown.tone };
    return { x: middle(index), title: shown.label, lines: [line] };
  };

  return (
    <Chart of={of} label={props.label} tipOf={tipOf}>
      {steps.length === 0 ? null : <ValueAxis frame={frame} scale={y} format={props.formatAxis} />}
      <ColumnAxis frame={frame} labels={steps.map(({ label }) => label)} x={middle} isWhole />
      {spans.map(({ step, low, high, end }, index) => (
        <g key={step.key} onPointerEnter={() => setActive(index)}>
          {index === spans.length - 1 ? null : (
            <line
              class="connector"
              x1={x(index)}
              x2={(x(index + 1) ?? 0) + x.bandwidth()}
              y1={y(end)}
              y2={y(end)}
            />
          )}
          <a
            href={step.href}
            class={`segment-link tone-${step.tone}`}
            data-column
            tabindex={index === 0 ? 0 : -1}
            aria-label={`${step.label}: ${format(step.value)}`}
            onFocus={() => setActive(index)}
            onBlur={() => setActive(null)}
          >
            <Hit frame={frame} middle={middle(index)} width={x.step()} />
            <rect
              class="segment"
              x={x(index)}
              width={x.bandwidth()}
              y={y(high)}
              height={Math.max(1, y(low) - y(high))}
            />
          </a>
        </g>
      ))}
    </Chart>
  );
}

interface Span {
  readonly step: Step;
  readonly low: number;
  readonly high: number;
  /** The height after it. */
  readonly end: number;
}

function spansOf(steps: readonly Step[]): Span[] {
  let height = 0;
  return steps.map((step) => {
    const start = step.isBalance ? 0 : height;
    height = start + step.value;
    return { step, low: Math.min(start, height), high: Math.max(start, height), end: height };
  });
}
