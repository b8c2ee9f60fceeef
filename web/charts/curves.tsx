/** Curves that begin together, by their age: those of single groups, and one that stands out. */
import { line as lineOf } from "d3-shape";
import { ColumnAxis, ValueAxis, valueScale } from "./axes.js";
import { Chart } from "./chart.js";
import { useFrame } from "./frame.js";
import type { Tone } from "./tones.js";

export interface Curve {
  readonly label: string;
  readonly tone: Tone | "then";
  /** From the beginning on; they may be of different lengths. */
  readonly values: readonly number[];
  readonly isMain?: boolean;
}

export function CurveChart(props: {
  readonly label: string;
  readonly curves: readonly Curve[];
  /** Of one age. */
  readonly nameOf: (age: number) => string;
  readonly format: (value: number) => string;
  readonly formatAxis: (value: number) => string;
}) {
  const { curves, format, nameOf } = props;
  const of = useFrame();
  const { frame, active, setActive } = of;
  const length = Math.max(0, ...curves.map(({ values }) => values.length));
  const y = valueScale(
    frame,
    curves.flatMap(({ values }) => values),
  );
  const step = (frame.right - frame.left) / Math.max(1, length - 1);
  const x = (age: number): number => frame.left + age * step;
  const path = lineOf<number>((_value, age) => x(age), y);
  const ages = Array.from({ length }, (_age, index) => index);
  const known = (age: number) => curves.filter(({ values }) => values[age] !== undefined);
  const tipOf = (age: number) => {
    const lines = known(age).map(({ label, tone, values }) => ({
      label,
      value: format(values[age] ?? 0),
      ...(tone === "then" ? {} : { tone }),
    }));
    return { x: x(age), title: nameOf(age), lines };
  };
  return (
    <Chart of={of} label={props.label} tipOf={tipOf}>
      <ValueAxis frame={frame} scale={y} format={props.formatAxis} />
      <ColumnAxis frame={frame} labels={ages.map(String)} x={x} />
      {curves.map(({ label, tone, values, isMain = false }) => (
        <g key={label} class={tone === "then" ? "" : `tone-${tone}`}>
          <path
            class={tone === "then" ? "line then" : isMain ? "line main" : "line thin"}
            d={path([...values]) ?? ""}
          />
        </g>
      ))}
      {active === null
        ? null
        : known(active).map(({ label, tone, values }) => (
            <g key={label} class={tone === "then" ? "" : `tone-${tone}`}>
              <circle class="dot" cx={x(active)} cy={y(values[active] ?? 0)} r={3.5} />
            </g>
          ))}
      {ages.map((age) => (
        <rect
          key={age}
          class="hit"
          data-column
          role="img"
          tabindex={age === length - 1 ? 0 : -1}
          aria-label={`${nameOf(age)}: ${known(age)
            .map(({ label, values }) => `${label} ${format(values[age] ?? 0)}`)
            .join(", ")}`}
          x={x(age) - step / 2}
          y={frame.top}
          width={length === 1 ? 40 : step}
          height={frame.bottom - frame.top}
          onPointerEnter={() => setActive(age)}
          onFocus={() => setActive(age)}
          onBlur={() => setActive(null)}
        />
      ))}
    </Chart>
  );
}
