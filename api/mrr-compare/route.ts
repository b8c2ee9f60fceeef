/** `GET /v1/metrics/mrr/compare`: why another tool shows another MRR. */
import { z } from "zod";
import { definitionNames, definitions } from "../../schemas/definitions/index.js";
import type { ExportRow } from "../exports/columns.js";
import { tables } from "../exports/tables.js";
import { listRoute } from "../reading/routes.js";
import { compareAccounts, type Compared, type ComparedAccount } from "./reading.js";
import {
  comparedAccount,
  mrrCompareAnswer,
  type MrrCompareAnswer,
  type MrrCompareQuery,
  mrrCompareQueryParameters,
} from "./schema.js";
import { exactMrr } from "../../schemas/money/monthly.js";
import { showMrr } from "../reading/amounts.js";

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

function presentComparedAccount(row: ComparedAccount, currency: string) {
  return {
    account: row.account,
    provider: comparedAccount.shape.provider.parse(row.provider),
    ...amountsOf(row.ours, row.difference, currency),
    rules: row.differences.map(({ rule, mrr }) => ({ rule, ...differenceOf(mrr, currency) })),
  };
}

function presentComparison(
  { ours, accounts }: Compared,
  definition: MrrCompareQuery["definition"],
  at: number,
  currency: string,
): MrrCompareAnswer["comparison"] {
  const { label, rules } = definitions[definition];
  const all = accounts.flatMap(({ differences }) => differences);
  const sumOf = (some: typeof all) => some.reduce((sum, { mrr }) => sum + mrr, 0n);
  return {
    at: new Date(at).toISOString(),
    currency,
    definition,
    label,
    definitions: definitionNames.map((name) => ({ name, label: definitions[name].label })),
    ...amountsOf(ours, sumOf(all), currency),
    accounts: accounts.length,
    rules: rules.map(({ id, text }) => {
      const own = all.filter(({ rule }) => rule === id);
      return { rule: id, text, ...differenceOf(sumOf(own), currency), accounts: own.length };
    }),
  };
}

function amountsOf(ours: bigint, difference: bigint, currency: string) {
  return {
    ours: showMrr(ours, currency),
    theirs: showMrr(ours + difference, currency),
    ...differenceOf(difference, currency),
  };
}

function differenceOf(mrr: bigint, currency: string) {
  return { difference: showMrr(mrr, currency), difference_exact: exactMrr(mrr) };
}
