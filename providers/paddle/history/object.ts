/** An object of Paddle's lists. */
import { z } from "zod";

export const object = z.looseObject({ id: z.string().min(1) });
export type HistoryObject = z.output<typeof object>;
