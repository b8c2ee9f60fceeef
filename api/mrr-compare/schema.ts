/** `GET /v1/metrics/mrr/compare`: MRR by our definition beside that of another tool. */
import { z } from "zod";
import { definitionNames } from "../../schemas/definitions/index.js";
import { clocksQuery, completeAnswer } from "../../schemas/http/clocks.js";
import { customerField } from "../../schemas/http/customers.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { pageQuery, pagination } from "../../schemas/http/pages.js";
import { cellQuery, segmentQuery } from "../../schemas/http/series.js";
import { providerToken } from "../../schemas/http/transactions.js";

const definitionName = z.enum(definitionNames);

export const definitionQuery = {
  definition: definitionName.optional().meta({
    description:
      "By the rules of another tool (docs/definitions/), of whole accounts: only `provider` " +
      "filters it. Default: ours.",
  }),
};
export const definitionShown = {
  definition: definitionName.optional().meta({ description: "Not ours, but that of this tool." }),
};

export const mrrCompareQueryParameters = z.object({
  definition: definitionName.meta({
    description: "What to hold ours beside. The rules of each, with sources: docs/definitions/.",
  }),
  provider: cellQuery.provider,
  ...segmentQuery,
  ...clocksQuery,
  ...pageQuery,
  ...formatQuery,
});
export type MrrCompareQuery = z.output<typeof mrrCompareQueryParameters>;

const exact = z.string().meta({ description: "The same unrounded: decimal text, six places." });

const amounts = {
  ours: z.number(),
  theirs: z.number(),
  difference: z.number().meta({ description: "`theirs − ours`." }),
  difference_exact: exact,
};

const ruleDifference = z
  .object({ rule: z.string(), difference: z.number(), difference_exact: exact })
  .meta({ id: "RuleDifference" });

export const comparedAccount = z.object({
  account: z.string().meta({ description: "A keyed hash." }),
  provider: providerToken,
  ...amounts,
  rules: z.array(ruleDifference).meta({
    description: "What makes the difference, in the order the rules apply; they add up to it.",
  }),
});

export const mrrCompareAnswer = completeAnswer("MrrCompareAnswer", {
  data: z.array(comparedAccount.extend(customerField).meta({ id: "ComparedAccount" })).meta({
    description:
      "Accounts that any rule makes different, the largest difference first. Over all pages " +
      "`difference_exact` adds up to that of `comparison`, to the last digit.",
  }),
  comparison: z.object({
    at: z.iso.datetime(),
    currency: z.string().meta({ description: "ISO 4217, of the workspace." }),
    definition: definitionName,
    label: z.string().meta({ description: "The tool, as people call it." }),
    definitions: z
      .array(z.object({ name: definitionName, label: z.string() }).meta({ id: "DefinitionName" }))
      .meta({ description: "All there are." }),
    ...amounts,
    accounts: z.int().meta({ description: "On all pages." }),
    rules: z
      .array(
        ruleDifference
          .extend({
            text: z.string().meta({ description: "The rule in a sentence." }),
            accounts: z.int().meta({ description: "Those it makes different." }),
          })
          .meta({ id: "ComparedRule" }),
      )
      .meta({ description: "All rules by which the definition differs, in their order." }),
  }),
  pagination,
});
export type MrrCompareAnswer = z.output<typeof mrrCompareAnswer>;
