/** Time in the demo: ms since 1970, in whole seconds as Stripe reports it, UTC. */
export const secondMs = 1000;
export const hourMs = 60 * 60 * secondMs;
export const dayMs = 24 * hourMs;

/** The same time on the same day so many months later, or on that month's last day. */
export function monthsAfter(at: number, months: number): number {
  const from = new Date(at);
  const month = from.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const day = Math.min(from.getUTCDate(), lastDay);
  return Date.UTC(from.getUTCFullYear(), month, day) + (at % dayMs);
}

export function wholeSecond(at: number): number {
  return Math.floor(at / secondMs) * secondMs;
}
