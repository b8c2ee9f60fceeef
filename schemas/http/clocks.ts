/** The two clocks in a query, and what each answer says about them (`definitions.md`). */
import { z } from "zod";

/** An ISO 8601 date-time with `Z` or an offset; read as ms since 1970. */
export const instant = z.iso
  .datetime({
    offset: true,
    error: "must be a date-time as 2026-01-31T12:00:00Z; in a URL the + of an offset is %2B",
  })
  .transform((text) => Date.parse(text));

export const clocksQuery = {
  at: instant.optional().meta({
    description: "Counts what happened up to then. Not in the future. Default: `known_at`.",
  }),
  known_at: instant.optional().meta({
    description:
      "Counts what was recorded up to then: the figure as it was known. Not after `complete_to`. " +
      "Default: now.",
  }),
};

export const completeTo = z.iso.datetime().meta({
  description:
    "Receipt time up to which everything taken has been booked. An answer with a `known_at` up " +
    "to then is final.",
});
