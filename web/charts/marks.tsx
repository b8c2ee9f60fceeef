/** What people wrote on a chart: notes on days, and what figures are meant to be. */
import { line as lineOf } from "d3-shape";
import type { Frame } from "./frame.js";

/** Their text is in the tip of the column, and in its name. */
export function NoteMarkers(props: {
  readonly frame: Frame;
  /** One for each column. */
  readonly notes: readonly (string | undefined)[];
  readonly x: (index: number) => number;
}) {
  const { frame, notes, x } = props;
  return (
    <g aria-hidden="true">
      {notes.map((note, index) =>
        note === undefined ? null : (
          <g key={index}>
            <line class="marker" x1={x(index)} x2={x(index)} y1={frame.top} y2={frame.bottom} />
            <circle class="marker-head" cx={x(index)} cy={frame.top} r={4} />
          </g>
        ),
      )}
    </g>
  );
}

/** From goal to goal; a column without one has no point. */
export function GoalLine(props: {
  readonly goals: readonly (number | undefined)[];
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}) {
  const points = props.goals.flatMap((goal, index) =>
    goal === undefined ? [] : [{ x: props.x(index), y: props.y(goal) }],
  );
  if (points.length === 0) return null;
  const path = lineOf<(typeof points)[number]>(
    (point) => point.x,
    (point) => point.y,
  )(points);
  return (
    <g aria-hidden="true" class="goal">
      <path d={path ?? ""} />
      {/* The first makes room for the second, whatever lies behind. */}
      {["goal-room", "goal-mark"].map((part) =>
        points.map((point) => (
          <line
            key={`${part} ${point.x}`}
            class={part}
            x1={point.x - 9}
            x2={point.x + 9}
            y1={point.y}
            y2={point.y}
          />
        )),
      )}
    </g>
  );
}
