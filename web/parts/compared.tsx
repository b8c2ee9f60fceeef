/** Beside an amount in a list of facts: how much more or less it is than at another time. */
import { range as rangeText } from "../format/dates.js";
import type { Range } from "../state/ranges.js";
import { change, money } from "../format/numbers.js";
import { Delta } from "./delta.js";

export function Compared(props: {
  readonly value: number | null;
  /** Null: there was none. Undefined: nothing is compared. */
  readonly then: number | null | undefined;
  readonly currency: string;
  /** What was lost, also where it is written as less than 0: more of it is worse. */
  readonly isLoss?: boolean;
}) {
  const { value, then, currency, isLoss = false } = props;
  if (then === undefined) return null;
  const of = (amount: number): number => (isLoss ? Math.abs(amount) : amount);
  return (
    <dd class="small">
      {value === null || then === null ? null : (
        <Delta
          change={value === then ? 0 : change(of(value), of(then))}
          isInverse={isLoss}
          title={`Compared with ${money(then, currency)}`}
        />
      )}
    </dd>
  );
}

/** Above the facts: which days they are compared with. */
export function ComparedWith({ time }: { readonly time: Range }) {
  return <dt class="small soft whole">Compared with {rangeText(time)}</dt>;
}
