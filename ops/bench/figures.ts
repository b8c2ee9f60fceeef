/** What a benchmark is given, what it hands back, and the table of all of it. */
import { aligned } from "../aligned.js";

/** What a person may choose on the command line; every one has a maximum there. */
export interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly events: number;
  readonly rows: number;
  readonly rate: number;
  /** Null: no CPU profiles. */
  readonly profileFolder: string | null;
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  /** Empty: a count. */
  readonly unit: "ms" | "/s" | "%" | "MiB" | "KB" | "";
  /** The same unit, measured in the same run: what no implementation could beat here. */
  readonly floor?: number;
  readonly target?:
    | { readonly valueMax: number }
    | { readonly valueMin: number }
    | { readonly ratioMin: number };
}

/**
 * @param valueMax it should stay below; null: it has no target
 * @param floor of the same run, where there is one
 */
export function below(
  valueMax: number | null,
  name: string,
  value: number,
  unit: Figure["unit"] = "ms",
  floor?: number,
): Figure {
  const target = valueMax !== null && { target: { valueMax } };
  return { name, value, unit, ...target, ...(floor !== undefined && { floor }) };
}

/** The middle of many durations, and the slowest hundredth. */
export function latencies(
  name: string,
  valuesMs: readonly number[],
  maxMs: { readonly p50?: number; readonly p99?: number } = {},
  floorsMs?: readonly number[],
): Figure[] {
  return ([50, 99] as const).map((p) => {
    const value = percentile(valuesMs, p / 100);
    const floor = floorsMs && percentile(floorsMs, p / 100);
    return below(maxMs[`p${p}`] ?? null, `${name}, p${p}`, value, "ms", floor);
  });
}

/** One line a figure: name, value, floor, ratio, target, `ok` or `MISSED`. */
export function tableOf(figures: readonly Figure[]): string {
  return aligned([["", "value", "floor", "value ÷ floor", "target", ""], ...figures.map(cellsOf)]);
}

function cellsOf(figure: Figure): string[] {
  const { name, value, unit, floor, target } = figure;
  const shown = (count: number) => `${short(count)} ${unit}`;
  return [
    name,
    shown(value),
    floor === undefined ? "" : shown(floor),
    floor === undefined ? "" : ratioText(value / floor),
    target === undefined
      ? ""
      : "valueMax" in target
        ? `< ${shown(target.valueMax)}`
        : "valueMin" in target
          ? `≥ ${shown(target.valueMin)}`
          : `≥ ${ratioText(target.ratioMin)}`,
    target === undefined ? "" : isReached(figure) ? "ok" : "MISSED",
  ];
}

function isReached({ value, floor, target }: Figure): boolean {
  if (target === undefined) return true;
  if ("valueMax" in target) return value < target.valueMax;
  if ("valueMin" in target) return value >= target.valueMin;
  return floor !== undefined && value / floor >= target.ratioMin;
}

/** The value below which the share `p` of all lies; NaN of none. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** `p50 11 ms, p90 …` of many durations. */
export function spread(valuesMs: readonly number[]): string {
  const at = (p: number) => short(percentile(valuesMs, p));
  return `p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)} ms (${valuesMs.length})`;
}

export function short(value: number): string {
  const digits = value >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
  return value.toLocaleString("en", digits);
}

function ratioText(ratio: number): string {
  return ratio < 2 ? `${short(ratio * 100)} %` : `${short(ratio)} ×`;
}
