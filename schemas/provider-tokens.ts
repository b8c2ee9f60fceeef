/** Tokens of `spec.md` 2.6, as stored and shown. */
export const providerTokens = [
  "stripe",
  "paddle",
  "lemonsqueezy",
  "revenuecat",
  "gumroad",
  "apple",
  "google",
  "custom",
] as const;
export type ProviderToken = (typeof providerTokens)[number];
