/** Rules that tools share. */
import { divideRounded } from "../money/money.js";
import { monthlyToMrr, mrrOf } from "../money/monthly.js";
import type { Rule } from "./definition.js";

export const finiteDiscounts: Rule = {
  id: "finite_discounts",
  text: "A discount that ends on an announced day is not subtracted.",
  apply: (_items, { lasting }) => lasting,
};

export const rateOfRenewal: Rule = {
  id: "rate_of_renewal",
  text: "Each renewal converts the price anew, at the rate of that day.",
  apply: (items) => items.map((item) => ({ ...item, mrr: item.renewed })),
};

export const rateOfTheDay: Rule = {
  id: "rate_of_the_day",
  text: "All prices are converted at the rate of the day that is asked about.",
  apply: (items, _subscription, { rateOf }) =>
    items.map((item) => {
      const rate = rateOf(item.currency);
      if (rate === null) return item;
      return { ...item, mrr: mrrOf(monthlyToMrr(item.monthly, rate, item.currency)) };
    }),
};

/** @param provider whose paused subscriptions the tool counts */
export function pausedCounts(provider: string): Rule {
  return {
    id: "paused_counts",
    text: "A paused or unpaid subscription counts until it is cancelled.",
    apply: (items, subscription) =>
      subscription.provider === provider ? [...items, ...subscription.paused] : items,
  };
}

export const firstMonthLeavers: Rule = {
  id: "first_month_leavers",
  text: "A customer who comes and leaves within one calendar month never counts.",
  apply: (items, _subscription, { account }) => (account.leavesInFirstMonth ? [] : items),
};

export const refundEnds: Rule = {
  id: "refund_ends",
  text: "A subscription ends when its newest payment is refunded as a whole.",
  apply: (items, _subscription, { refunded }) => items.filter(({ sku }) => !refunded.has(sku)),
};

/** Ours has 52/12, of which this is 12/13. */
export const monthsOfFourWeeks: Rule = {
  id: "months_of_four_weeks",
  text: "A month has four weeks, not 52 / 12.",
  apply: (items) =>
    items.map((item) =>
      item.interval === "week" ? { ...item, mrr: divideRounded(item.mrr * 12n, 13n) } : item,
    ),
};
