/** What changed and why, in three sentences. Pure: from answers of the interface. */
import type { Frequency } from "../../schemas/http/outbound/digests.js";
import type { SummaryAnswer } from "../summary/schema.js";
import type { RevenueAnswer } from "../revenue/schema.js";
import type { WhatChangedAnswer } from "../what-changed/schema.js";

export interface DigestFigures {
  readonly mrr: Pick<SummaryAnswer["data"], "mrr" | "currency">;
  readonly whatChanged: Pick<WhatChangedAnswer["data"], "from" | "difference" | "kinds" | "rows">;
  readonly revenue: {
    readonly totals: RevenueTotals;
    readonly compare?: RevenueTotals | null | undefined;
  };
}
type RevenueTotals = Pick<RevenueAnswer["data"]["totals"], "revenue" | "sales">;

const periodNames = { daily: "day", weekly: "week", monthly: "month" } as const;

export function sentencesOf(frequency: Frequency, figures: DigestFigures): string[] {
  const period = periodNames[frequency];
  const money = moneyIn(figures.mrr.currency);
  return [mrrSentence(figures, period, money), whySentence(figures, money), revenueSentence()];

  function revenueSentence(): string {
    const { totals, compare } = figures.revenue;
    const now = `Revenue of the ${period} was ${money(totals.revenue)} from ${salesOf(totals)}`;
    if (!compare) return `${now}.`;
    return `${now}, after ${money(compare.revenue)} from ${salesOf(compare)} the ${period} before.`;
  }
}

type Money = (amount: number) => string;

export function moneyIn(currency: string): Money {
  const format = new Intl.NumberFormat("en", { style: "currency", currency });
  return (amount) => format.format(amount);
}

function mrrSentence({ mrr, whatChanged }: DigestFigures, period: string, money: Money): string {
  const { from, difference } = whatChanged;
  const now = `MRR is ${money(mrr.mrr)}`;
  if (difference === 0) return `${now}, the same as a ${period} before.`;
  const way = difference > 0 ? "up" : "down";
  const change = `${way} ${money(Math.abs(difference))}${shareOf(difference, from.mrr)}`;
  return `${now}, ${change} from ${money(from.mrr)} a ${period} before.`;
}

function shareOf(difference: number, before: number): string {
  if (before <= 0) return "";
  const share = Math.abs(difference) / before;
  return ` (${share.toLocaleString("en", { style: "percent", maximumFractionDigits: 1 })})`;
}

const causes = [
  ["new_mrr", "new customers"],
  ["expansion_mrr", "upgrades"],
  ["reactivation_mrr", "returning customers"],
  ["contraction_mrr", "downgrades"],
  ["churn_mrr", "customers who left"],
  ["switch_mrr", "changes of provider"],
] as const;

function whySentence({ whatChanged }: DigestFigures, money: Money): string {
  const { kinds, rows } = whatChanged;
  const moved = causes
    .map(([kind, cause]) => ({ cause, amount: kinds[kind] }))
    .filter(({ amount }) => amount !== 0);
  if (moved.length === 0) return "No subscription changed it.";
  const list = (sign: number) =>
    moved
      .filter(({ amount }) => Math.sign(amount) === sign)
      .map(({ cause, amount }) => `${cause} (${money(Math.abs(amount))})`);
  const parts = [...sidesOf("It grew by", list(1)), ...sidesOf("It shrank by", list(-1))];
  const [largest] = rows;
  const named = largest?.product_name ?? largest?.product_id;
  const most = named === undefined ? "" : `, most of all in ${named}`;
  const [first = "", second] = parts;
  const both = second === undefined ? first : `${first} and ${lowerFirst(second)}`;
  return `${both}${most}.`;
}

function sidesOf(verb: string, list: readonly string[]): string[] {
  if (list.length === 0) return [];
  return [`${verb} ${new Intl.ListFormat("en", { type: "conjunction" }).format(list)}`];
}

function lowerFirst(text: string): string {
  return text.replace(/^It /, "");
}

function salesOf({ sales }: RevenueTotals): string {
  return `${sales.toLocaleString("en")} ${sales === 1 ? "sale" : "sales"}`;
}
