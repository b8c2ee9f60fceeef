/** Tokens of `spec.md` 2.6 and of the providers added since, as stored, and as people read them. */
export const providerNames = {
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
} as const;
export type ProviderToken = keyof typeof providerNames;

const isToken = (text: string): text is ProviderToken => Object.hasOwn(providerNames, text);
export const providerTokens: readonly ProviderToken[] = Object.keys(providerNames).filter(isToken);
