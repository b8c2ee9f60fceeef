/** A difference to what a figure is compared with; what is good is not said by colour alone. */
import { signedPercent, signedPoints } from "../format/numbers.js";

export function Delta(props: {
  /** Null: there is nothing to compare with. */
  readonly change: number | null;
  /** Points: the difference of two percentages. Default: percent. */
  readonly unit?: "percent" | "points";
  /** Less is better: churn. */
  readonly isInverse?: boolean;
  /** Of what it is compared with, for the title. */
  readonly title?: string;
}) {
  const { change, unit = "percent", isInverse = false } = props;
  if (change === null) {
    return (
      <span class="delta soft" title={props.title}>
        –
      </span>
    );
  }
  const steps = unit === "points" ? 100 : 10;
  const rounded = Math.round(change * steps) / steps;
  const direction = Math.sign(rounded);
  const tone = direction === 0 ? "soft" : direction > 0 === isInverse ? "loss" : "up";
  const arrow = ["▼", "", "▲"][direction + 1];
  return (
    <span class={`delta ${tone}`} title={props.title}>
      {arrow} {unit === "points" ? signedPoints(rounded) : signedPercent(rounded)}
    </span>
  );
}
