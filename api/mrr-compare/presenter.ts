/** The JSON of two definitions of MRR side by side. */
import { definitionNames, definitions } from "../../schemas/definitions/index.js";
import { exactMrr } from "../../schemas/money/monthly.js";
import { showMrr } from "../reading/amounts.js";
import type { Compared, ComparedAccount } from "./reading.js";
import { type MrrCompareAnswer, type MrrCompareQuery, comparedAccount } from "./schema.js";

export function presentComparedAccount(row: ComparedAccount, currency: string) {
  return {
    account: row.account,
    provider: comparedAccount.shape.provider.parse(row.provider),
    ...amountsOf(row.ours, row.difference, currency),
    rules: row.differences.map(({ rule, mrr }) => ({ rule, ...differenceOf(mrr, currency) })),
  };
}

export function presentComparison(
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
