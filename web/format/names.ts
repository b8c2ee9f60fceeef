/** Tokens of the interface as people read them. */
import type { PlanInterval } from "../../schemas/money/plan-intervals.js";
import type { providerNames as namesOfService } from "../../schemas/provider-tokens.js";
import { vintageName } from "./dates.js";

/** The bundle takes only types from the service: the type holds these equal to the names there. */
const providers: typeof namesOfService = {
  stripe: "Stripe",
  paddle: "Paddle",
  lemonsqueezy: "Lemon Squeezy",
  polar: "Polar",
  chargebee: "Chargebee",
  revenuecat: "RevenueCat",
  gumroad: "Gumroad",
  apple: "App Store",
  google: "Google Play",
  custom: "Custom",
};

const providerNames = new Map<string, string>(Object.entries(providers));

/** "one, two, and three" */
export const namesList = new Intl.ListFormat("en", { type: "conjunction" });

export const providerTokens = [...providerNames.keys()];

export function providerName(token: string): string {
  return providerNames.get(token) ?? token;
}

/** Of a filter; products have their names elsewhere. */
export function filterValueName(filter: string, value: string): string {
  if (filter === "provider") return providerName(value);
  if (filter === "country") return countryName(value);
  if (filter === "plan_interval") return planIntervalName(value);
  return filter === "vintage" ? vintageName(value) : value;
}

const planIntervals = {
  week: "Weekly",
  month: "Monthly",
  quarter: "Quarterly",
  half_year: "Half-yearly",
  year: "Yearly",
  other: "Other interval",
  unknown: "Unknown interval",
} satisfies Readonly<Record<PlanInterval, string>>;

const planIntervalNames = new Map<string, string>(Object.entries(planIntervals));

export const planIntervalTokens = [...planIntervalNames.keys()];

export function planIntervalName(token: string): string {
  return planIntervalNames.get(token) ?? token;
}

const countries = new Intl.DisplayNames(undefined, { type: "region", fallback: "code" });

export function countryName(code: string): string {
  if (code === "ZZ") return "Unknown country";
  try {
    return countries.of(code) ?? code;
  } catch {
    return code;
  }
}

/** `acct_…` hashes are long; the beginning is enough to know one again. */
export function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 12)}…` : id;
}

/** `one_time` → `One time` */
export function words(token: string): string {
  const text = token.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
