/** Calendar months in UTC, as all figures are. Moments are ms since 1970. */

/** 00:00 of the first day of the month of that moment, or of one so many months later. */
export function startOfMonth(at: number, monthsLater = 0): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater);
}

/** Months since the year 0, so that months can be counted and compared. */
export function monthNumber(at: number): number {
  const date = new Date(at);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** @param month as `monthNumber` counts @returns `YYYY-MM` */
export function monthText(month: number): string {
  const year = String(Math.floor(month / 12)).padStart(4, "0");
  return `${year}-${String((month % 12) + 1).padStart(2, "0")}`;
}

export interface Month {
  /** YYYY-MM */
  readonly month: string;
  /** Its part of the span. */
  readonly from: number;
  readonly to: number;
}

/** Every month that the span touches, in order of time. */
export function monthsOf({ from, to }: { readonly from: number; readonly to: number }): Month[] {
  const months: Month[] = [];
  for (let start = startOfMonth(from); start <= to; start = startOfMonth(start, 1)) {
    months.push({
      month: monthText(monthNumber(start)),
      from: Math.max(start, from),
      to: Math.min(startOfMonth(start, 1), to),
    });
  }
  return months;
}
