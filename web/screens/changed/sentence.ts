/** What changed, in one sentence made from the figures. */
import type { WhatChangedAnswer } from "../../../api/what-changed/schema.js";
import { count, signedMoney } from "../../format/numbers.js";
import { type Kind, kinds } from "../mrr/kinds.js";

type Data = WhatChangedAnswer["data"];

/** @param byAccount as many accounts as one answer has room for @param when `since Oct 1, 2026` */
export function sentenceOf(byAccount: Data, when: string): string {
  const { difference, currency, rows, others } = byAccount;
  if (rows.length === 0) return `Nothing changed ${when}.`;
  // Accounts can be counted where all are there; of more, the amounts say it.
  const parts = others.count === 0 ? accountsOf(byAccount) : amountsOf(byAccount);
  const what = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  return `${signedMoney(difference, currency)} ${when}${what}.`;
}

const verbs: Readonly<Record<Kind, string>> = {
  new: "joined",
  expansion: "upgraded",
  reactivation: "returned",
  contraction: "downgraded",
  churn: "left",
  switch: "switched",
};

/** `two accounts left`, `one upgraded` */
function accountsOf({ rows, difference }: Data): string[] {
  return ordered(difference)
    .map(({ kind, field }) => ({ kind, many: rows.filter((row) => row.kinds[field] !== 0).length }))
    .filter(({ many }) => many > 0)
    .map(({ kind, many }, index) => {
      const accounts = index > 0 ? "" : many === 1 ? " account" : " accounts";
      return `${numberText(many)}${accounts} ${verbs[kind]}`;
    });
}

function amountsOf({ kinds: amounts, difference, currency }: Data): string[] {
  return ordered(difference)
    .filter(({ field }) => amounts[field] !== 0)
    .map(({ field, label }) => `${signedMoney(amounts[field], currency)} ${label.toLowerCase()}`);
}

const losses: ReadonlySet<Kind> = new Set(["contraction", "churn"]);

/** What explains the sign first. */
function ordered(difference: number): (typeof kinds)[number][] {
  const isLoss = difference < 0;
  return kinds.toSorted(
    (one, other) =>
      Number(losses.has(other.kind) === isLoss) - Number(losses.has(one.kind) === isLoss),
  );
}

const small = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

function numberText(many: number): string {
  return small[many - 1] ?? count(many);
}
