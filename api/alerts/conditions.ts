/**
 * When an alert fires: a function of a series and a condition. The test on history and the watch
 * every few minutes use the same function. Pure.
 */
import type { AlertCondition } from "../../schemas/http/outbound/alerts.js";

export interface Point {
  /** ms since 1970: the beginning of its interval. */
  readonly start: number;
  /** The moment of the value: the end of the interval, or how far it has come. */
  readonly at: number;
  /** Null: there is none, or it is not defined. */
  readonly value: number | null;
  readonly isOver: boolean;
  /** What it consists of, and what is beside it, by kind. */
  readonly kinds?: Readonly<Record<string, number>>;
}

export interface Series {
  /** In order of time, one for each interval. */
  readonly points: readonly Point[];
  /** The distance of like periods: days are compared with the same day of the week. */
  readonly stride: number;
  /** A balance is known at any time and has a trend; other figures are sums over an interval. */
  readonly isBalance: boolean;
  /** The limit that a growing sum may cross before its interval is over. */
  readonly grows: "up" | "down" | null;
}

interface Judgement {
  readonly isMet: boolean;
  /** Of `change`: the value it is compared with. */
  readonly before?: number;
  /** Of `unusual`: the usual range, and what was compared with it. */
  readonly usual?: { readonly from: number; readonly to: number; readonly is: number };
}

export interface Watch {
  readonly isMet: boolean;
  /** ms since 1970: the last firing. */
  readonly firedAt: number | null;
  /** Points up to then have been judged. */
  readonly judgedTo: number;
}

export interface Firing {
  readonly point: Point;
  readonly value: number;
  readonly judgement: Judgement;
  /** When the condition ceased to be true. */
  endedAt: number | null;
}

/**
 * Fires when the condition becomes true, and again only after it was false.
 * @param restMs least time between two firings
 */
export function watch(
  series: Series,
  condition: AlertCondition,
  before: Watch,
  restMs: number,
): { readonly after: Watch; readonly firings: readonly Firing[]; readonly endedAt: number | null } {
  let { isMet, firedAt, judgedTo } = before;
  let endedAt: number | null = null;
  const firings: Firing[] = [];
  for (const [index, point] of series.points.entries()) {
    if (point.at <= judgedTo) continue;
    const judgement = judge(series, condition, index);
    if (judgement === null || point.value === null) continue;
    judgedTo = point.at;
    if (judgement.isMet === isMet) continue;
    if (isMet) {
      isMet = false;
      const last = firings.at(-1);
      if (last === undefined) endedAt = point.at;
      else last.endedAt = point.at;
      continue;
    }
    if (firedAt !== null && point.at - firedAt < restMs) continue;
    isMet = true;
    firedAt = point.at;
    firings.push({ point, value: point.value, judgement, endedAt: null });
  }
  return { after: { isMet, firedAt, judgedTo }, firings, endedAt };
}

/** @returns null while nothing can be said, which changes nothing */
function judge(series: Series, condition: AlertCondition, index: number): Judgement | null {
  const point = series.points[index];
  if (point === undefined || point.value === null) return null;
  const judgement = judgements(series, condition, index, point.value);
  if (judgement === null || point.isOver || isLive(series, condition)) return judgement;
  // A sum that has crossed the limit stays beyond it; one that has not may still cross it.
  return mayCross(series, condition) && judgement.isMet ? judgement : null;
}

type Kind = Pick<Series, "isBalance" | "grows">;

/** Whether nothing can be said before an interval is over. */
export function needsWhole(kind: Kind, condition: AlertCondition): boolean {
  return !isLive(kind, condition) && !mayCross(kind, condition);
}

/** Whether it can be judged within an interval, both ways. */
function isLive({ isBalance }: Kind, { is }: AlertCondition): boolean {
  return isBalance && is !== "unusual";
}

function mayCross({ grows }: Kind, { is }: AlertCondition): boolean {
  return (is === "above" && grows === "up") || (is === "below" && grows === "down");
}

/** How many earlier points a condition needs. */
export function lookBack(condition: AlertCondition, stride: number): number {
  if (condition.is === "change") return condition.over;
  return condition.is === "unusual" ? condition.periods * stride + 1 : 0;
}

function judgements(
  series: Series,
  condition: AlertCondition,
  index: number,
  value: number,
): Judgement | null {
  if (condition.is === "above") return { isMet: value > condition.value };
  if (condition.is === "below") return { isMet: value < condition.value };
  if (condition.is === "unusual") return unusualOf(series, index, condition);
  return changeOf(series.points[index - condition.over]?.value ?? null, value, condition);
}

function changeOf(
  before: number | null,
  value: number,
  { way, by, unit }: Extract<AlertCondition, { readonly is: "change" }>,
): Judgement | null {
  // There is no percentage of 0.
  if (before === null || (unit === "percent" && before === 0)) return null;
  const difference = value - before;
  const change = unit === "amount" ? difference : (difference / Math.abs(before)) * 100;
  const isMet = (way !== "down" && change >= by) || (way !== "up" && -change >= by);
  return { isMet, before };
}

/** Makes the median absolute deviation of normal noise equal to its standard deviation. */
const ofMedianDeviation = 1.4826;
/** The same for the mean absolute deviation, used where more than half of the values are equal. */
const ofMeanDeviation = 1.2533;
/** Fewer like periods do not show what is usual. */
const sampleMin = 5;

/** Balances have a trend, so their change since the point before is judged. */
function unusualOf(
  { points, stride, isBalance }: Series,
  index: number,
  { deviations, periods }: Extract<AlertCondition, { readonly is: "unusual" }>,
): Judgement | null {
  const valueAt = (place: number): number | null => {
    const value = points[place]?.value ?? null;
    if (!isBalance || value === null) return value;
    const before = points[place - 1]?.value ?? null;
    return before === null ? null : value - before;
  };
  const is = valueAt(index);
  const sample = Array.from({ length: periods }, (_, back) =>
    valueAt(index - (back + 1) * stride),
  ).filter((value) => value !== null);
  if (is === null || sample.length < sampleMin) return null;
  const middle = median(sample);
  const distances = sample.map((value) => Math.abs(value - middle));
  const mean = distances.reduce((sum, distance) => sum + distance, 0) / distances.length;
  const deviation = median(distances) * ofMedianDeviation || mean * ofMeanDeviation;
  // All are equal, so nothing shows how much they may differ.
  if (deviation === 0) return null;
  const half = deviations * deviation;
  const usual = { from: middle - half, to: middle + half, is };
  return { isMet: is < usual.from || is > usual.to, usual };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  const [low = 0, high = 0] = sorted.slice(half - 1, half + 1);
  return sorted.length % 2 === 1 ? (sorted[half] ?? 0) : (low + high) / 2;
}
