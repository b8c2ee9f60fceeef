/** From one balance to the next, step by step. Each step is a link. */
import { scaleBand, scaleLinear } from "d3-scale";
import { useState } from "preact/hooks";
import { ColumnAxis, ValueAxis } from "./axes.js";
import { useFrame } from "./frame.js";
import { moveFocus } from "./roving.js";
import { Tip } from "./tip.js";
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
  const { holder, frame } = useFrame(labelsBottomPx);
  const [active, setActive] = useState<number | null>(null);
  const spans = spansOf(steps);
  const values = spans.flatMap(({ low, high }) => [low, high]);
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(1, ...values)])
    .nice()
    .range([frame.bottom, frame.top]);
  const x = scaleBand<number>()
    .domain(steps.map((_step, index) => index))
    .range([frame.left, frame.right])
    .paddingInner(0.3)
    .paddingOuter(0.15);
  const middle = (index: number): number => (x(index) ?? 0) + x.bandwidth() / 2;
  const shown = active === null ? undefined : steps[active];

  return (
    <div class="chart" ref={holder}>
      {frame.width === 0 ? null : (
        <svg
          role="group"
          aria-label={props.label}
          onKeyDown={moveFocus}
          onPointerLeave={() => setActive(null)}
        >
          {steps.length === 0 ? null : (
            <ValueAxis frame={frame} scale={y} format={props.formatAxis} />
          )}
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
                <rect
                  class="hit"
                  x={middle(index) - x.step() / 2}
                  y={frame.top}
                  width={x.step()}
                  height={frame.bottom - frame.top}
                />
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
        </svg>
      )}
      {shown === undefined || active === null ? null : (
        <Tip
          frame={frame}
          x={middle(active)}
          title={shown.label}
          lines={[{ label: "", value: format(shown.value), tone: shown.tone }]}
        />
      )}
    </div>
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
