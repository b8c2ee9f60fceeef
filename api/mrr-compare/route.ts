/** `GET /v1/metrics/mrr/compare`: why another tool shows another MRR. */
import { z } from "zod";
import { definitions } from "../../schemas/definitions/index.js";
import type { ExportRow } from "../exports/columns.js";
import { tables } from "../exports/tables.js";
import { listRoute } from "../reading/routes.js";
import { presentComparedAccount, presentComparison } from "./presenter.js";
import { type ComparedAccount, compareAccounts } from "./reading.js";
import { mrrCompareQueryParameters, mrrCompareAnswer } from "./schema.js";

export const mrrCompareRoute = listRoute(
  {
    path: "/v1/metrics/mrr/compare",
    summary: "MRR by our definition beside that of another tool",
    description:
      "Both totals, and the accounts that make the difference, with the rule for each; " +
      "docs/definitions/.",
    query: mrrCompareQueryParameters,
    answer: mrrCompareAnswer,
    position: z.object({ rows: z.number().int() }),
    table: tables.compared,
    accountOf: (row: ExportRow) => row["account"],
  },
  async ({ service, access, query, asOf, ...asked }) => {
    const { definition, provider, accounts: only } = await asked.narrowed(query);
    const { baseCurrency: currency } = access;
    const of = { asOf, provider, accounts: only };
    const compared = await compareAccounts(service, definitions[definition], of, currency);
    const { accounts } = compared;
    return {
      present: (row: ComparedAccount) => presentComparedAccount(row, currency),
      async page(after, limit) {
        const shown = after?.rows ?? 0;
        const upTo = shown + limit;
        return {
          rows: accounts.slice(shown, upTo),
          last: upTo < accounts.length ? { rows: upTo } : null,
          more: { comparison: presentComparison(compared, definition, asOf.at, currency) },
        };
      },
      async *all() {
        yield accounts;
      },
      count: async () => accounts.length,
    };
  },
);
