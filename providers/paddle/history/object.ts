/** Objects of Paddle's lists, and times as Paddle writes them. */
import { z } from "zod";

export const object = z.looseObject({ id: z.string().min(1) });
export type HistoryObject = z.output<typeof object>;

export function rfc3339(atMs: number): string {
  return new Date(atMs).toISOString();
}
