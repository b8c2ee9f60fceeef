/** The envelope around every Polar object, and how an object's reader is made. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { anyCaseCurrency, anyObject, idText, isoTime, minorUnits, readOnce } from "../fields.js";
import { readerOf, type Unreported } from "../outcomes.js";

export const envelopeShape = readOnce(
  z.object({ type: z.string().min(1), timestamp: isoTime, data: anyObject }),
);

export interface PolarEvent {
  readonly type: string;
  /** When the event was made, ms since 1970. */
  readonly at: number;
  readonly data: unknown;
}

type Reported = readonly FactBody[] | Unreported;
export type Reader = (event: PolarEvent) => Reported;

export const reader = readerOf<PolarEvent, readonly FactBody[]>(({ data }) => data);

/** Fields as Polar writes them, turned into ours. */
export const field = {
  id: idText,
  /** ISO 8601 with six decimals → ms since 1970 */
  time: isoTime,
  /** The units of its payment processor: see `isoMinor`. */
  amount: minorUnits,
  currency: anyCaseCurrency,
};
