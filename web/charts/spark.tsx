/** A small line beside a figure. It says nothing the figure's own screen does not show. */
import { line } from "d3-shape";

const width = 100;
const height = 24;

export function Spark({ values }: { readonly values: readonly number[] }) {
  if (values.length < 2) return <svg class="spark" aria-hidden="true" />;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const path = line<number>(
    (_value, index) => (index / (values.length - 1)) * width,
    (value) => height - 2 - ((value - low) / span) * (height - 4),
  )([...values]);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={path ?? ""} />
    </svg>
  );
}
