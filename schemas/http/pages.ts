/** Pages of the list endpoints (`definitions.md`, Pages). */
import { z } from "zod";

export const pageRows = { default: 50, max: 200 } as const;

/** Of a query, 1 to `max`. */
export function wholeNumber(max: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(1).max(max));
}

export const pageQuery = {
  limit: wholeNumber(pageRows.max)
    .optional()
    .meta({
      type: "integer",
      minimum: 1,
      maximum: pageRows.max,
      description: `Rows a page. Default: ${pageRows.default}.`,
    }),
  cursor: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe(
      "`next_cursor` of the page before. It holds the filters and the moment the walk began; " +
        "filters given beside it must be the same.",
    ),
};

export const pagination = z
  .object({
    has_more: z.boolean(),
    next_cursor: z.string().nullable().describe("Null on the last page."),
  })
  .meta({ id: "Pagination" });
