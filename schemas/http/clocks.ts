/** The two clocks in a query, and what each answer says about them (`definitions.md`). */
import { z } from "zod";

/** An ISO 8601 date-time with `Z` or an offset; read as ms since 1970. */
export const instant = z.iso
  .datetime({
    offset: true,
    error: "must be a date-time as 2026-01-31T12:00:00Z; in a URL the + of an offset is %2B",
  })
  .transform((text) => Date.parse(text));

/** A day stands for its last millisecond; `readAsOf` makes of today, which is not over, now. */
export const instantOrDay = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error:
      "must be a day as 2026-01-31 or a date-time as 2026-01-31T12:00:00Z; in a URL the + of an " +
      "offset is %2B",
  })
  .transform((text) => (text.includes("T") ? Date.parse(text) : Date.parse(text) + dayMs - 1));

const dayMs = 24 * 60 * 60 * 1000;

export const clocksQuery = {
  at: instantOrDay.optional().meta({
    type: "string",
    description:
      "Counts what happened up to then: a date-time, or a day for its end (today: now). Not in " +
      "the future. Default: `known_at`; in the test environment the newest moment booked, where " +
      "a provider's test clock is ahead of now.",
  }),
  known_at: instant
    .optional()
    .describe(
      "Counts what was recorded up to then: the figure as it was known. Not after `complete_to`. " +
        "Default: now.",
    ),
};

const completeTo = z.iso
  .datetime()
  .describe(
    "Receipt time up to which everything taken has been booked. An answer with a `known_at` up " +
      "to then is final.",
  );

/** An answer with figures as of one moment. */
export function figuresAnswer<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  const at = z.iso.datetime().describe("The moment the figures are as of.");
  return completeAnswer(id, { ...shape, at });
}

/** An answer with what was asked for, and up to when that is complete. */
export function completeAnswer<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.object({ status: z.literal("success"), ...shape, complete_to: completeTo }).meta({ id });
}
