/** Turns rows into the answer, in any thread (`answers/answers.ts`). */
import { parsedRows } from "../../stores/clickhouse/rows.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { Presented } from "../exports/send.js";
import { summaryRows, summaryTable } from "../exports/tables.js";
import { type MovementSeriesRow, beforeAll } from "../movement-series/query.js";
import { type Sums, plus, sumsByStart, sumsOf } from "../reading/movement-sums.js";
import type { MovementKindRow } from "./movement-kinds.js";
import type { Period } from "./period.js";
import { type SummaryOf, presentSummary } from "./presenter.js";
import type { SummaryAnswer, SummaryFigures } from "./schema.js";

export interface SummaryTexts {
  readonly period: Period;
  /** Rows of `movementSeriesQuery` where each interval is asked for, else of the two moments. */
  readonly sums: string;
}

export function summaryAnswer(given: {
  readonly asked: SummaryTexts;
  /** Null: it would be before 1970. Undefined: not asked for. */
  readonly compared: SummaryTexts | null | undefined;
  readonly isSeries: boolean;
  readonly of: SummaryOf;
}): Presented {
  const { asked, compared, isSeries, of } = given;
  const present = (texts: SummaryTexts) => presentTime(texts, isSeries, of);
  const data: SummaryAnswer["data"] = {
    currency: of.currency,
    ...present(asked),
    ...(compared === undefined ? {} : { compare: compared && present(compared) }),
  };
  return { data, table: () => [summaryTable(compared !== undefined), summaryRows(data)] };
}

function presentTime(
  { period, sums: text }: SummaryTexts,
  isSeries: boolean,
  of: SummaryOf,
): SummaryFigures & { series?: SummaryFigures[] } {
  const { series } = period;
  if (series === null || !isSeries) {
    const rows = parsedRows<MovementKindRow>(text);
    const sumsAt = (wanted: MovementKindRow["moment"]) =>
      sumsOf(rows.filter(({ moment }) => moment === wanted));
    return presentSummary(sumsAt("now"), sumsAt("then"), period, of);
  }
  const sumsOfStart = sumsByStart(parsedRows<MovementSeriesRow>(text));
  const first = sumsOfStart(beforeAll);
  let sums: Sums = first;
  const figures = series.parts.map((part) => {
    const before = sums;
    sums = plus(before, sumsOfStart(utcDay(part.start)));
    const days = { since: part.from, until: Math.min(part.to, period.until) };
    return presentSummary(sums, before, days, of);
  });
  return { ...presentSummary(sums, first, period, of), series: figures };
}
