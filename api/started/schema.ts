/** What is counted by the month in which it began: what is asked, and how an answer is made up. */
import { z } from "zod";
import { clocksQuery } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { cellQuery } from "../../schemas/http/series.js";
import { ratesQueryParameters } from "../rates/schema.js";
import { compareQuery } from "../summary/schema.js";

const { from, to } = ratesQueryParameters.shape;

export const startedQueryParameters = z.object({
  from,
  to,
  provider: cellQuery.provider,
  segment: cellQuery.segment,
  ...compareQuery,
  ...clocksQuery,
  ...formatQuery,
});

export const monthFields = {
  month: z.string().meta({ description: "Of the start: `YYYY-MM`" }),
  until: z.iso.datetime().meta({ description: "Where it ends; not after `at`." }),
  is_whole: z.boolean().meta({ description: "False of a month that is still going on." }),
};

export const monthsFields = {
  since: z.iso.datetime().meta({ description: "The start of the first month." }),
  until: z.iso.datetime().meta({ description: "The end of the last one; not after `at`." }),
};

/** @param what earlier ones had as long to do */
export function comparedText(what: string): string {
  return (
    "With `compare`: as many months just before, the same of a year before, or the " +
    `same as known then; null before 1970. Earlier ones had as long to ${what}: they ` +
    "are as of `at` moved by as many months."
  );
}
