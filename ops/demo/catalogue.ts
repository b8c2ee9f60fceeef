/** What the demo's business sells, to whom, and for how much. */
import type { Weighted } from "./chance.js";

export type Currency = "USD" | "EUR" | "GBP" | "JPY";
/** Minor units of ISO 4217. */
export type PriceList = Readonly<Record<Currency, bigint>>;

export interface Plan {
  /** Its SKU. */
  readonly product: string;
  readonly name: string;
  /** One seat, one month. */
  readonly monthly: PriceList;
  readonly seatsMax: number;
}

const starter: Plan = {
  product: "prod_demo_starter",
  name: "Starter",
  monthly: { USD: 1_900n, EUR: 1_800n, GBP: 1_500n, JPY: 2_800n },
  seatsMax: 1,
};
const team: Plan = {
  product: "prod_demo_team",
  name: "Team",
  monthly: { USD: 1_500n, EUR: 1_400n, GBP: 1_200n, JPY: 2_200n },
  seatsMax: 12,
};
const business: Plan = {
  product: "prod_demo_business",
  name: "Business",
  monthly: { USD: 14_900n, EUR: 13_900n, GBP: 11_900n, JPY: 21_900n },
  seatsMax: 3,
};

/** The smallest first: an upgrade is the next one. */
export const plans: readonly [Plan, ...Plan[]] = [starter, team, business];

export const newPlans: readonly Weighted<Plan>[] = [
  [50, starter],
  [37, team],
  [13, business],
];

/** Bought once. */
export const workshop = {
  product: "prod_demo_workshop",
  name: "Onboarding Workshop",
  price: { USD: 29_900n, EUR: 27_900n, GBP: 23_900n, JPY: 43_900n } satisfies PriceList,
};

export const products: readonly { readonly product: string; readonly name: string }[] = [
  ...plans,
  workshop,
];

export interface Market {
  readonly country: string;
  readonly currency: Currency;
}

export const markets: readonly Weighted<Market>[] = [
  [30, { country: "US", currency: "USD" }],
  [5, { country: "CA", currency: "USD" }],
  [4, { country: "AU", currency: "USD" }],
  [16, { country: "DE", currency: "EUR" }],
  [9, { country: "FR", currency: "EUR" }],
  [6, { country: "NL", currency: "EUR" }],
  [4, { country: "ES", currency: "EUR" }],
  [15, { country: "GB", currency: "GBP" }],
  [9, { country: "JP", currency: "JPY" }],
  [2, { country: "IE", currency: "EUR" }],
];

export const yearInMonths = 12;
/** Who pays for a year gets two months free. */
const monthsPaidOfYear = 10n;

export type Interval = "month" | "year";

/** One seat for one interval. */
export function priceOf(plan: Plan, interval: Interval, currency: Currency): bigint {
  return plan.monthly[currency] * (interval === "year" ? monthsPaidOfYear : 1n);
}
