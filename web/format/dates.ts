/** Days and moments as the reader's locale writes them; always UTC, as all figures are. */
import type { Interval } from "../../schemas/http/series.js";
import { dayBefore, type Range } from "../state/ranges.js";

const formats = new Map<string, Intl.DateTimeFormat>();

export function day(text: string): string {
  return formatOf({ day: "numeric", month: "short", year: "numeric" }).format(new Date(text));
}

function shortDay(text: string): string {
  return formatOf({ day: "numeric", month: "short" }).format(new Date(text));
}

export function month(text: string): string {
  return formatOf({ month: "short", year: "numeric" }).format(new Date(text));
}

export function moment(text: string): string {
  return formatOf({ dateStyle: "medium", timeStyle: "medium" }).format(new Date(text));
}

export function shortMoment(text: string): string {
  const date = new Date(text);
  // This year needs no year.
  const isThisYear = date.getUTCFullYear() === new Date().getUTCFullYear();
  return formatOf({
    day: "numeric",
    month: "short",
    ...(isThisYear ? {} : { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
  }).format(date);
}

export function time(text: string): string {
  return formatOf({ hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(text));
}

/** With milliseconds: the steps of an event are that close. */
export function exactTime(text: string): string {
  return formatOf({
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
  }).format(new Date(text));
}

export function range({ from, to }: Range): string {
  return formatOf({ day: "numeric", month: "short", year: "numeric" }).formatRange(
    new Date(from),
    new Date(dayBefore(to)),
  );
}

/** @param vintage `2026-07`, `2026-Q3` or `2026` */
export function vintageName(vintage: string): string {
  return /^\d{4}-\d{2}$/.test(vintage) ? month(`${vintage}-01`) : vintage.replace("-", " ");
}

/** The name of one interval that begins on a day. */
export function intervalName(from: string, interval: Interval): string {
  const date = new Date(from);
  switch (interval) {
    case "year":
      return String(date.getUTCFullYear());
    case "quarter":
      return `Q${Math.floor(date.getUTCMonth() / 3) + 1} ${date.getUTCFullYear()}`;
    case "month":
      return month(from);
    case "week":
      return `Week of ${shortDay(from)}`;
    case "day":
      return day(from);
    default:
      return interval satisfies never;
  }
}

/** The same where there is little room. */
export function intervalTick(from: string, interval: Interval): string {
  const date = new Date(from);
  if (interval === "year") return String(date.getUTCFullYear());
  if (interval === "quarter") return `Q${Math.floor(date.getUTCMonth() / 3) + 1}`;
  if (interval !== "month") return shortDay(from);
  return date.getUTCMonth() === 0
    ? formatOf({ month: "short", year: "2-digit" }).format(date)
    : formatOf({ month: "short" }).format(date);
}

/** @param ms that passed */
export function span(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

function formatOf(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options);
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat(undefined, { timeZone: "UTC", ...options });
  formats.set(key, made);
  return made;
}
