/** Calendar months in UTC, as all figures are. */

export interface Month {
  /** YYYY-MM */
  readonly month: string;
  /** ms since 1970: its part of the span */
  readonly from: number;
  readonly to: number;
}

/** Every month that the span touches, in order of time. @param span ms since 1970 */
export function monthsOf({ from, to }: { readonly from: number; readonly to: number }): Month[] {
  const months: Month[] = [];
  for (let start = monthStart(from, 0); start <= to; start = monthStart(start, 1)) {
    months.push({
      month: new Date(start).toISOString().slice(0, 7),
      from: Math.max(start, from),
      to: Math.min(monthStart(start, 1), to),
    });
  }
  return months;
}

function monthStart(at: number, monthsLater: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater);
}
