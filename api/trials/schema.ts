/** `GET /v1/metrics/trials`: the free trials that began in each month, and what became of them. */
import { z } from "zod";
import { clocksQuery, figuresAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { cellQuery } from "../../schemas/http/series.js";
import { ratesQueryParameters } from "../rates/schema.js";
import { compareQuery } from "../summary/schema.js";

const { from, to } = ratesQueryParameters.shape;

export const trialsQueryParameters = z.object({
  from,
  to,
  provider: cellQuery.provider,
  ...compareQuery,
  ...clocksQuery,
  ...formatQuery,
});

const counts = {
  started: z.int().describe("Subscriptions whose first trial began in it."),
  converted: z.int().describe("Of those, the ones that came to a paid period up to `at`."),
  lost: z.int().describe("Of those, the ones that ended without one."),
  open: z.int().describe("The rest: `started − converted − lost`."),
  conversion_rate_pct: z
    .number()
    .nullable()
    .describe("Converted ÷ started, in percent; null where none started."),
};

export const monthTrials = z
  .object({
    month: z.string().meta({ description: "Of the start: `YYYY-MM`" }),
    until: z.iso.datetime().meta({ description: "Where it ends; not after `at`." }),
    is_whole: z.boolean().meta({ description: "False of a month that is still going on." }),
    ...counts,
  })
  .meta({ id: "MonthTrials" });
export type MonthTrials = z.output<typeof monthTrials>;

const trialsOfMonths = z
  .object({
    since: z.iso.datetime().meta({ description: "The start of the first month." }),
    until: z.iso.datetime().meta({ description: "The end of the last one; not after `at`." }),
    ...counts,
    series: z.array(monthTrials).meta({ description: "Oldest first." }),
  })
  .meta({ id: "TrialsOfMonths" });
export type TrialsOfMonths = z.output<typeof trialsOfMonths>;

export const trialsAnswer = figuresAnswer("TrialsAnswer", {
  data: trialsOfMonths
    .extend({
      compare: trialsOfMonths
        .nullable()
        .optional()
        .meta({
          description:
            "With `compare`: as many months just before, the same of a year before, or the " +
            "same as known then; null before 1970. Earlier ones had as long to convert: they " +
            "are as of `at` moved by as many months.",
        }),
    })
    .meta({ id: "Trials" }),
});
export type TrialsAnswer = z.output<typeof trialsAnswer>;
