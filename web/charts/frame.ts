/** The room a chart has: its size follows the page, its margins leave room for the axes. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Frame {
  readonly width: number;
  readonly height: number;
  /** Of the drawing, without the axes. */
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** Labels beside the drawing are as wide as the reader's language writes them. */
  readonly makeRoom: (labelPx: number) => void;
}

/** Between a label and the drawing. */
export const labelGapPx = 8;
const margins = { left: 46, right: 8, top: 10, bottom: 24 };

/** @param bottom the room below the drawing, in px */
export function useFrame(bottom = margins.bottom): {
  readonly holder: RefObject<HTMLDivElement | null>;
  readonly frame: Frame;
  /** The column that is pointed at, or has the focus. */
  readonly active: number | null;
  readonly setActive: (index: number | null) => void;
} {
  const [active, setActive] = useState<number | null>(null);
  const holder = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [left, setLeft] = useState(margins.left);
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((before) =>
        before.width === width && before.height === height ? before : { width, height },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    holder,
    active,
    setActive,
    frame: {
      ...size,
      left,
      right: Math.max(left + 1, size.width - margins.right),
      top: margins.top,
      bottom: Math.max(margins.top + 1, size.height - bottom),
      makeRoom: (labelPx) => setLeft(Math.max(margins.left, Math.ceil(labelPx) + labelGapPx + 2)),
    },
  };
}
