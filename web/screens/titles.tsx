/** Titles of charts: each says what its chart shows, and its name opens the definition. */
import type { ComponentChildren } from "preact";
import type { MovementsRow } from "../../api/movement-series/schema.js";
import type { RevenueRow } from "../../api/revenue/schema.js";
import type { Interval } from "../../schemas/http/series.js";
import type { Definition, DefinitionName } from "../definitions.js";
import { endOfInterval, inInterval } from "../format/dates.js";
import { change, money, percent, roundMoney, signedRoundMoney } from "../format/numbers.js";
import { Term } from "../parts/term.js";
import { useView } from "../state/view.js";

export function Title(props: {
  readonly of: DefinitionName | Definition;
  /** What it comes to; left out while that is on its way. */
  readonly children?: ComponentChildren;
}) {
  return (
    <>
      <Term of={props.of} /> {props.children}
    </>
  );
}

interface OfSeries<Row> {
  readonly rows: readonly Row[];
  readonly interval: Interval;
  readonly currency: string;
}

/** `MRR grew 3.1% in October` */
export function MrrTitle({ rows, interval, currency }: OfSeries<MovementsRow>) {
  const { end } = useView();
  const row = lastWhole(rows, interval, end);
  return (
    <Title of="mrr">
      {row && grown(row.start_mrr, row.end_mrr, currency)}{" "}
      {row && inInterval(row.from, row.to, interval, end)}
    </Title>
  );
}

/** `Net new MRR was +$2,098 in October` */
export function NetNewTitle({ rows, interval, currency }: OfSeries<MovementsRow>) {
  const { end } = useView();
  const row = lastWhole(rows, interval, end);
  return (
    <Title of="netNew">
      {row && `was ${signedRoundMoney(row.end_mrr - row.start_mrr, currency)}`}{" "}
      {row && inInterval(row.from, row.to, interval, end)}
    </Title>
  );
}

/** `Revenue was $43,445 in October` */
export function RevenueTitle({ rows, interval, currency }: OfSeries<RevenueRow>) {
  const { end } = useView();
  const row = lastWhole(rows, interval, end);
  return (
    <Title of="revenue">
      {row && `was ${roundMoney(row.revenue, currency)}`}{" "}
      {row && inInterval(row.from, row.to, interval, end)}
    </Title>
  );
}

/** `Stripe brings 94.9% of MRR` */
export function ShareTitle(props: {
  readonly of: DefinitionName;
  /** As it is called within a sentence. */
  readonly name: string;
  /** Where no group stands out. */
  readonly otherwise: string;
  readonly largest: { readonly label: string; readonly value: number } | undefined;
  readonly whole: number;
}) {
  const { of, name, otherwise, largest, whole } = props;
  if (largest === undefined || largest.value <= 0 || whole <= 0) {
    return <Term of={of} label={otherwise} />;
  }
  return (
    <>
      {largest.label} brings {percent((largest.value / whole) * 100)} of{" "}
      <Term of={of} label={name} />
    </>
  );
}

/**
 * The last interval that is over: of the one that still goes on little may be there. That one where
 * there is no other.
 */
function lastWhole<Row extends { readonly from: string }>(
  rows: readonly Row[],
  interval: Interval,
  end: number,
): Row | undefined {
  const isOver = ({ from }: Row): boolean => Date.parse(endOfInterval(from, interval)) <= end;
  return rows.findLast(isOver) ?? rows.at(-1);
}

function grown(before: number, now: number, currency: string): string {
  const percentage = change(now, before);
  if (percentage === null) return now === 0 ? "stayed at 0" : `came to ${money(now, currency)}`;
  if (Math.abs(percentage) < 0.05) return "stayed the same";
  return `${percentage > 0 ? "grew" : "fell"} ${percent(Math.abs(percentage))}`;
}

/** `grew from $18,786 to $41,757` */
export function fromTo(before: number, now: number, currency: string): string {
  if (before === now) return `stayed at ${roundMoney(now, currency)}`;
  const verb = now > before ? "grew" : "fell";
  return `${verb} from ${roundMoney(before, currency)} to ${roundMoney(now, currency)}`;
}
