/** A difference to what a figure is compared with; what is good is not said by colour alone. */
import { signedPercent } from "../format/numbers.js";

export function Delta(props: {
  /** Percent; null: there is nothing to compare with. */
  readonly change: number | null;
  /** Less is better: churn. */
  readonly isInverse?: boolean;
  /** Of what it is compared with, for the title. */
  readonly title?: string;
}) {
  const { change, isInverse = false } = props;
  if (change === null) {
    return (
      <span class="delta soft" title={props.title}>
        –
      </span>
    );
  }
  const rounded = Math.round(change * 10) / 10;
  const direction = Math.sign(rounded);
  const tone = direction === 0 ? "soft" : direction > 0 === isInverse ? "loss" : "up";
  const arrow = ["▼", "", "▲"][direction + 1];
  return (
    <span class={`delta ${tone}`} title={props.title}>
      {arrow} {signedPercent(rounded)}
    </span>
  );
}
