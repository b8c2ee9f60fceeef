/** The lines and labels behind a chart. */
import { type ScaleLinear, scaleBand, scaleLinear } from "d3-scale";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Frame, labelGapPx } from "./frame.js";

/** From 0, or from the lowest value, to the highest. */
export function valueScale(frame: Frame, values: readonly number[]) {
  return scaleLinear()
    .domain([Math.min(0, ...values), Math.max(1, ...values)])
    .nice()
    .range([frame.bottom, frame.top]);
}

/** @param gap between two columns, as a part of the way from one to the next */
export function columnScale(frame: Frame, columns: number, gap: number) {
  const x = scaleBand<number>()
    .domain(Array.from({ length: columns }, (_column, index) => index))
    .range([frame.left, frame.right])
    .paddingInner(gap)
    .paddingOuter(gap / 2);
  return { x, middle: (index: number): number => (x(index) ?? 0) + x.bandwidth() / 2 };
}

const pxPerTick = 52;
const pxPerLabel = 64;

export function ValueAxis(props: {
  readonly frame: Frame;
  readonly scale: ScaleLinear<number, number>;
  /** Empty: there is no such value. */
  readonly format: (value: number) => string;
}) {
  const { frame, scale, format } = props;
  const axis = useRef<SVGGElement>(null);
  const ticks = scale.ticks(Math.max(2, Math.floor((frame.bottom - frame.top) / pxPerTick)));
  useLayoutEffect(() => {
    const labels = [...(axis.current?.querySelectorAll("text") ?? [])];
    frame.makeRoom(Math.max(0, ...labels.map((label) => label.getComputedTextLength())));
  });
  return (
    <g aria-hidden="true" ref={axis}>
      {ticks.map((tick) => {
        const label = format(tick);
        if (label === "") return null;
        const y = Math.round(scale(tick)) + 0.5;
        return (
          <g key={tick}>
            <line
              class={tick === 0 ? "zero" : "grid"}
              x1={frame.left}
              x2={frame.right}
              y1={y}
              y2={y}
            />
            <text x={frame.left - labelGapPx} y={y} dy="0.32em" text-anchor="end">
              {label}
            </text>
          </g>
        );
      })}
    </g>
  );
}

const pxPerRow = 13;

/** Labels below the columns, as many as fit. */
export function ColumnAxis(props: {
  readonly frame: Frame;
  readonly labels: readonly string[];
  /** The middle of a column. */
  readonly x: (index: number) => number;
  /** None is left out; in little room they stand in two rows. */
  readonly isWhole?: boolean;
}) {
  const { frame, labels, x, isWhole = false } = props;
  const fitting = Math.max(1, Math.floor((frame.right - frame.left) / pxPerLabel));
  const step = isWhole ? 1 : Math.max(1, Math.ceil(labels.length / fitting));
  const rows = isWhole && labels.length > fitting ? 2 : 1;
  // Counted from the end, so that the newest column always has its label.
  const offset = (labels.length - 1) % step;
  return (
    <g aria-hidden="true">
      {labels.map((label, index) =>
        index % step === offset ? (
          <text
            key={label + String(index)}
            x={x(index)}
            y={frame.bottom + 17 + (index % rows) * pxPerRow}
            text-anchor="middle"
          >
            {label}
          </text>
        ) : null,
      )}
    </g>
  );
}
