/** Quiet hours, in which nothing is sent. Pure. */
import type { QuietHours } from "../../schemas/http/outbound/alerts.js";

const minuteMs = 60_000;
const minutesPerDay = 24 * 60;

/**
 * By local time, so that summer time moves them, too.
 * @param at ms since 1970
 * @returns when they end; null outside of them
 */
export function quietUntil(quiet: QuietHours, at: number): number | null {
  if (quiet === null) return null;
  const [from, to] = [minuteOf(quiet.from), minuteOf(quiet.to)];
  const isQuiet = (minute: number): boolean =>
    from < to ? minute >= from && minute < to : minute >= from || minute < to;
  const clock = new Intl.DateTimeFormat("en", {
    timeZone: quiet.time_zone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const minuteAt = (moment: number): number => minuteOf(clock.format(moment));
  if (!isQuiet(minuteAt(at))) return null;
  const left = (to - minuteAt(at) + minutesPerDay) % minutesPerDay;
  let end = Math.floor(at / minuteMs) * minuteMs + left * minuteMs;
  // The clock changed in between: an hour early is within them, an hour late after them.
  const late = (minuteAt(end) - to + minutesPerDay) % minutesPerDay;
  if (late > minutesPerDay / 2) end += (minutesPerDay - late) * minuteMs;
  else if (end - late * minuteMs > at) end -= late * minuteMs;
  return end;
}

/** @param time `22:00` */
function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
