/** What a column holds, beside it, for the pointer and for the keyboard. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Frame } from "./frame.js";
import type { Tone } from "./tones.js";

export interface TipLine {
  readonly label: string;
  readonly value: string;
  readonly tone?: Tone | undefined;
}

const gapPx = 12;

export function Tip(props: {
  readonly frame: Frame;
  /** The middle of the column. */
  readonly x: number;
  readonly title: string;
  readonly lines: readonly TipLine[];
}) {
  const { frame, x } = props;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const { offsetWidth: width } = element;
    const right = x + gapPx;
    const left = right + width <= frame.width ? right : Math.max(0, x - gapPx - width);
    element.style.transform = `translate(${Math.round(left)}px, ${frame.top}px)`;
  });
  return (
    <div class="tip" ref={box} aria-hidden="true">
      <strong>{props.title}</strong>
      <dl>
        {props.lines.map(({ label, value, tone }) => (
          <>
            <dt>
              {tone === undefined ? null : <span class={`mark tone-${tone}`} />}
              {label}
            </dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}
