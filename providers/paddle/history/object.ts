/** An object of Paddle's lists, and what it reports before its event gets an id. */
import { z } from "zod";

export const object = z.looseObject({ id: z.string().min(1) });
export type HistoryObject = z.output<typeof object>;

export interface Reported {
  readonly type: string;
  /** ms since 1970: orders the readings of one thing */
  readonly at: number;
  readonly object: Readonly<Record<string, unknown>>;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
  /** It may have been so before, and otherwise in between: each reading reports it anew. */
  readonly mayRecur?: boolean;
}
