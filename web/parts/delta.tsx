/** A difference to what a figure is compared with; what is good is not said by colour alone. */
import { count, signedPercent, signedPoints } from "../format/numbers.js";

/** Percent. */
const timesFrom = 1_000;

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
  // Of what has grown many times over, nobody reads the percentage.
  const times = unit === "percent" && change >= timesFrom ? Math.round(1 + change / 100) : null;
  const steps = unit === "points" ? 100 : 10;
  const rounded = Math.round(change * steps) / steps;
  const direction = Math.sign(rounded);
  const tone = direction === 0 ? "soft" : direction > 0 === isInverse ? "loss" : "up";
  const arrow = ["▼", "", "▲"][direction + 1];
  return (
    <span class={`delta ${tone}`} title={props.title}>
      {arrow}{" "}
      {times !== null
        ? `×${count(times)}`
        : unit === "points"
          ? signedPoints(rounded)
          : signedPercent(rounded)}
    </span>
  );
}
