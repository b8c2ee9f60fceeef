/** One figure: its name, what it is, what it is compared with, and a small line. */
import { Spark } from "../charts/spark.js";
import type { Definition, DefinitionName } from "../definitions.js";
import {
  change,
  count,
  decimal,
  money,
  percent,
  roundMoney,
  signedMoney,
  signedRoundMoney,
} from "../format/numbers.js";
import { Delta } from "./delta.js";
import { Skeleton } from "./states.js";
import { Term } from "./term.js";

export type Format = "money" | "cents" | "signed" | "count" | "percent" | "ratio";

export function FigureCell(props: {
  readonly of: DefinitionName | Definition;
  readonly href: string;
  /** Undefined while it is on its way, null when there is none. */
  readonly value: number | null | undefined;
  readonly then: number | null | undefined;
  readonly format: Format;
  readonly currency: string;
  readonly isInverse?: boolean;
  /** Where the difference is explained. */
  readonly whatChanged?: string | undefined;
  readonly spark: readonly number[];
  /** What it is, in a sentence. */
  readonly sentence?: string;
  /** The one of several that is shown below. */
  readonly isCurrent?: boolean;
}) {
  const { value, then, format, currency } = props;
  const text = textOf(value, format, currency);
  const delta = deltaOf(value, then, format);
  return (
    <div class={props.isCurrent === true ? "figure-cell current" : "figure-cell"}>
      <Term of={props.of} />
      <a
        class="value"
        href={props.href}
        title={exactText(value, format, currency)}
        aria-current={props.isCurrent === true ? "true" : undefined}
      >
        {text ?? <Skeleton of="12,345" />}
      </a>
      <div class="beside">
        {delta === null ? (
          <span />
        ) : (
          <>
            {props.whatChanged === undefined ? (
              <Delta {...delta} isInverse={props.isInverse === true} />
            ) : (
              <a class="delta-link" href={props.whatChanged} title="What changed">
                <span class="unseen">What changed: </span>
                <Delta {...delta} isInverse={props.isInverse === true} />
              </a>
            )}
            <span class="soft" title={`Compared with ${exactText(then, format, currency) ?? ""}`}>
              {textOf(then, format, currency)}
            </span>
          </>
        )}
      </div>
      <Spark values={props.spark} />
      {props.sentence === undefined ? null : <p class="soft small">{props.sentence}</p>}
    </div>
  );
}

/** What is a percentage itself changes by points. */
function deltaOf(
  value: number | null | undefined,
  then: number | null | undefined,
  format: Format,
): { readonly change: number | null; readonly unit: "percent" | "points" } | null {
  if (typeof value !== "number" || typeof then !== "number") return null;
  return format === "percent"
    ? { change: value - then, unit: "points" }
    : { change: change(value, then), unit: "percent" };
}

export function textOf(
  value: number | null | undefined,
  format: Format,
  currency: string,
): string | undefined {
  if (value === undefined) return undefined;
  if (value === null) return "–";
  switch (format) {
    case "money":
      return roundMoney(value, currency);
    case "cents":
      return money(value, currency);
    case "signed":
      return signedRoundMoney(value, currency);
    case "count":
      return count(value);
    case "percent":
      return percent(value, 2);
    case "ratio":
      return decimal(value);
    default:
      return format satisfies never;
  }
}

/** With all its cents. */
function exactText(
  value: number | null | undefined,
  format: Format,
  currency: string,
): string | undefined {
  if (typeof value !== "number") return undefined;
  if (format === "money") return money(value, currency);
  if (format === "signed") return signedMoney(value, currency);
  return textOf(value, format, currency);
}
