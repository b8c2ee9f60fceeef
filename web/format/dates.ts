/**
 * Days and moments as the reader's locale writes them. Days, months and other intervals are those
 * of UTC, as all figures are; a moment is in the zone of the reader, who also finds it in UTC.
 */
import type { Interval } from "../../schemas/http/series.js";
import { dayBefore, dayText, type Range } from "../state/ranges.js";

const formats = new Map<string, Intl.DateTimeFormat>();

/** Undefined: that of the reader. */
type Zone = "UTC" | undefined;

export function day(text: string): string {
  return written(text, { day: "numeric", month: "short", year: "numeric" }, "UTC");
}

function shortDay(text: string): string {
  return written(text, { day: "numeric", month: "short" }, "UTC");
}

export function month(text: string): string {
  return written(text, { month: "short", year: "numeric" }, "UTC");
}

/** With its zone. */
export function moment(text: string): string {
  return momentIn(text, undefined);
}

function momentIn(text: string, zone: Zone): string {
  return written(
    text,
    {
      day: "numeric",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "short",
    },
    zone,
  );
}

/** In the reader's zone and in UTC, once where they are the same. */
export function bothMoments(text: string): string {
  const [own, utc] = [momentIn(text, undefined), momentIn(text, "UTC")];
  return own === utc ? own : `${own} (${utc})`;
}

/** Of the zone at this time of the year. */
export function zoneName(): string {
  return (
    formatOf({ timeZoneName: "short" }, undefined)
      .formatToParts()
      .find(({ type }) => type === "timeZoneName")?.value ?? "UTC"
  );
}

export function shortMoment(text: string): string {
  // This year needs no year.
  const isThisYear = new Date(text).getFullYear() === new Date().getFullYear();
  return written(text, {
    day: "numeric",
    month: "short",
    ...(isThisYear ? {} : { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
  });
}

/** A time alone is enough of today. */
export function timeOrMoment(text: string): string {
  const isToday = new Date(text).toDateString() === new Date().toDateString();
  return isToday ? time(text) : shortMoment(text);
}

export function time(text: string): string {
  return written(text, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** With milliseconds: the steps of an event are that close. */
export function exactTime(text: string): string {
  return written(text, exactly);
}

export function exactMoment(text: string): string {
  return written(text, { day: "numeric", month: "short", year: "numeric", ...exactly });
}

const exactly = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
} as const;

export function range({ from, to }: Range): string {
  return formatOf({ day: "numeric", month: "short", year: "numeric" }, "UTC").formatRange(
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
  const name = written(from, { month: "short" }, "UTC");
  // Not `Jan 26`, which reads as a day.
  return date.getUTCMonth() === 0 ? `${name} ’${String(date.getUTCFullYear()).slice(-2)}` : name;
}

/**
 * When something was: `in October`, `in November so far`, `on Oct 3, 2026`. An interval that its
 * range cuts short is named by its days.
 *
 * @param to the day after its last, or the moment that it is shown up to
 * @param end ms since 1970: now, or the moment that a frozen view is of
 */
export function inInterval(from: string, to: string, interval: Interval, end: number): string {
  const [first, last] = [startOfInterval(from, interval), endOfInterval(from, interval)];
  const isRunning = Date.parse(last) > end;
  const until = to.slice(0, 10);
  if (from.slice(0, 10) !== first || (!isRunning && until !== last)) {
    return `over ${range({ from, to: until })}`;
  }
  const name = nameInSentence(first, interval, new Date(end).getUTCFullYear());
  return isRunning ? `${name} so far` : name;
}

function nameInSentence(from: string, interval: Interval, thisYear: number): string {
  if (interval === "day") return `on ${day(from)}`;
  if (interval === "week") return `in the week of ${shortDay(from)}`;
  if (interval !== "month") return `in ${intervalName(from, interval)}`;
  const isThisYear = new Date(from).getUTCFullYear() === thisYear;
  const year = isThisYear ? {} : ({ year: "numeric" } as const);
  return `in ${written(from, { month: "long", ...year }, "UTC")}`;
}

/** The day that the interval around a day begins with; weeks begin on Mondays. */
function startOfInterval(text: string, interval: Interval): string {
  const date = new Date(text);
  const [year, monthIndex, on] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  switch (interval) {
    case "year":
      return dayText(Date.UTC(year, 0, 1));
    case "quarter":
      return dayText(Date.UTC(year, monthIndex - (monthIndex % 3), 1));
    case "month":
      return dayText(Date.UTC(year, monthIndex, 1));
    case "week":
      return dayText(Date.UTC(year, monthIndex, on - ((date.getUTCDay() + 6) % 7)));
    case "day":
      return dayText(Date.UTC(year, monthIndex, on));
    default:
      return interval satisfies never;
  }
}

/** The day after the last of the interval around a day. */
export function endOfInterval(text: string, interval: Interval): string {
  const date = new Date(startOfInterval(text, interval));
  const [year, monthIndex, on] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const months = { day: 0, week: 0, month: 1, quarter: 3, year: 12 }[interval];
  const days = { day: 1, week: 7, month: 0, quarter: 0, year: 0 }[interval];
  return dayText(Date.UTC(year, monthIndex + months, on + days));
}

/** @param ms that passed */
export function span(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

/** An address may name a moment that is none: it is shown as it stands there. */
function written(text: string, options: Intl.DateTimeFormatOptions, zone?: Zone): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : formatOf(options, zone).format(date);
}

function formatOf(options: Intl.DateTimeFormatOptions, zone: Zone): Intl.DateTimeFormat {
  const key = JSON.stringify([options, zone]);
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat(undefined, { timeZone: zone, ...options });
  formats.set(key, made);
  return made;
}
