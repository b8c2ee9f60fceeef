/** The drawing of a chart: its columns by the arrow keys, and what the one pointed at holds. */
import type { ComponentChildren } from "preact";
import type { Frame, useFrame } from "./frame.js";
import { Tip, type TipLine } from "./tip.js";
import type { Tone } from "./tones.js";

export function Chart(props: {
  readonly of: ReturnType<typeof useFrame>;
  readonly label: string;
  /** Higher than most (styles/charts.css). */
  readonly isHigh?: boolean | undefined;
  readonly tone?: Tone;
  /** What is said beside a column. */
  readonly tipOf: (index: number) => ColumnTip | null;
  readonly children: ComponentChildren;
}) {
  const { of, label, isHigh = false, tone } = props;
  const { holder, frame, active, setActive } = of;
  const tip = active === null ? null : props.tipOf(active);
  return (
    <div class={isHigh ? "chart high" : "chart"} ref={holder}>
      {frame.width === 0 ? null : (
        <svg
          class={tone && `tone-${tone}`}
          role="group"
          aria-label={label}
          onKeyDown={moveFocus}
          onPointerLeave={() => setActive(null)}
        >
          {props.children}
        </svg>
      )}
      {tip === null ? null : <Tip frame={frame} {...tip} />}
    </div>
  );
}

interface ColumnTip {
  /** The middle of the column. */
  readonly x: number;
  readonly title: string;
  readonly lines: readonly TipLine[];
}

/** Where a column is pointed at, whatever is drawn in it. */
export function Hit(props: {
  readonly frame: Frame;
  readonly middle: number;
  readonly width: number;
}) {
  const { frame, middle, width } = props;
  const height = frame.bottom - frame.top;
  return <rect class="hit" x={middle - width / 2} y={frame.top} width={width} height={height} />;
}

/**
 * Arrow keys in a chart: one of its columns takes part in the order of Tab, the arrows go from one
 * to the next, Home and End to the first and the last.
 */
function moveFocus(event: KeyboardEvent): void {
  const { currentTarget, target, key } = event;
  if (!(currentTarget instanceof Element) || !(target instanceof Element)) return;
  const links = [...currentTarget.querySelectorAll<SVGElement>("[data-column]")];
  const from = links.findIndex((link) => link === target);
  if (from < 0) return;
  const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: links.length - 1 }[key];
  if (to === undefined) return;
  event.preventDefault();
  const next = links[Math.max(0, Math.min(links.length - 1, to))];
  links[from]?.setAttribute("tabindex", "-1");
  next?.setAttribute("tabindex", "0");
  next?.focus();
}
