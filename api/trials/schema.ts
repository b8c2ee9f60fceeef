/** `GET /v1/metrics/trials`: the free trials that began in each month, and what became of them. */
import { z } from "zod";
import { figuresAnswer } from "../../schemas/http/clocks.js";
import { comparedText, monthFields, monthsFields } from "../started/schema.js";

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

export const monthTrials = z.object({ ...monthFields, ...counts }).meta({ id: "MonthTrials" });

const trialsOfMonths = z
  .object({
    ...monthsFields,
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
        .meta({ description: comparedText("convert") }),
    })
    .meta({ id: "Trials" }),
});
export type TrialsAnswer = z.output<typeof trialsAnswer>;
