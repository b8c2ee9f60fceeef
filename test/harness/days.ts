/** Lengths of time, in milliseconds. */
export const secondMs = 1000;
export const hourMs = 60 * 60 * secondMs;
export const dayMs = 24 * hourMs;

/** When a day of UTC began: today, or so many days before. */
export function midnight(daysBefore = 0): number {
  return Math.floor(Date.now() / dayMs) * dayMs - daysBefore * dayMs;
}
