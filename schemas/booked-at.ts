/**
 * When a row was booked: the third clock of versions, ledger entries, changes and movements. No
 * figure depends on it. A repeat inserts nothing, so it stays what it was.
 */
import { z } from "zod";

/** Of a repair: one moment for all rows of a statement, by the clock of the store. */
export const bookedNow = "now64(3, 'UTC') AS booked_at";

export const bookedAtColumn = "booked_at DateTime64(3, 'UTC')";

export const bookedAt = z.iso
  .datetime()
  .describe("When it was booked; of a repair, when it was written to its table.");
