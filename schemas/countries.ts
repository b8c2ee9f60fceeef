/**
 * Countries of ISO 3166-1: the alpha-2 codes we keep, also from the alpha-3 codes (Apple) and the
 * English names (Gumroad) some providers send. Kosovo has no code of ISO: XK is the one everybody
 * uses.
 */
import { createRequire } from "node:module";
// Its main entry reads the names in all languages.
import { getAlpha2Codes, getAlpha3Codes, type LocaleData } from "i18n-iso-countries/index.js";

/** ISO 3166's code for an unknown country. */
export const unknownCountry = "ZZ";

/** @param code alpha-2 in capitals; `ZZ`, the code for unknown, counts */
export function isCountry(code: string): boolean {
  return code === unknownCountry || alpha2Codes.has(code);
}

/** @param code alpha-3 in any case; null when it is none */
export function alpha2OfAlpha3(code: string): string | null {
  return byAlpha3.get(code.toUpperCase()) ?? null;
}

/** @param name English, with or without accents, articles and full stops; null when not known */
export function alpha2OfName(name: string): string | null {
  return byName.get(folded(name)) ?? null;
}

/** "St. Barthélemy" and "Saint Barthelemy" are one name, and so are "Bahamas" and "The Bahamas". */
function folded(name: string): string {
  return name
    .normalize("NFD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "" && word !== "the" && word !== "and")
    .map((word) => (word === "st" ? "saint" : word))
    .join(" ");
}

/**
 * Names beside those of the package: of Debian's iso-codes, and of MaxMind's GeoIP, which is where
 * Gumroad's `ip_country` comes from.
 */
const moreNames: readonly (readonly [alpha2: string, name: string])[] = [
  ["AX", "Åland"],
  ["BN", "Brunei"],
  ["BO", "Bolivia, Plurinational State of"],
  ["BQ", "Caribbean Netherlands"],
  ["CD", "Congo, The Democratic Republic of the"],
  ["CD", "DR Congo"],
  ["CG", "Congo"],
  ["CG", "Congo Republic"],
  ["CV", "Cabo Verde"],
  ["FK", "Falkland Islands"],
  ["FM", "Federated States of Micronesia"],
  ["FM", "Micronesia"],
  ["HK", "Hong Kong SAR"],
  ["HM", "Heard and McDonald Islands"],
  ["IR", "Iran, Islamic Republic of"],
  ["JO", "Hashemite Kingdom of Jordan"],
  ["KP", "Korea, Democratic People's Republic of"],
  ["LA", "Laos"],
  ["LT", "Republic of Lithuania"],
  ["MD", "Moldova"],
  ["MD", "Republic of Moldova"],
  ["MF", "Saint Martin"],
  ["MK", "Macedonia"],
  ["MK", "Macedonia, the former Yugoslav Republic of"],
  ["MM", "Burma"],
  ["MO", "Macau"],
  ["PS", "Palestine, State of"],
  ["PS", "Palestinian Territory"],
  ["SH", "Saint Helena, Ascension and Tristan da Cunha"],
  ["SX", "Sint Maarten"],
  ["SY", "Syria"],
  ["SZ", "Swaziland"],
  ["TL", "East Timor"],
  ["TZ", "Tanzania, United Republic of"],
  ["UM", "U.S. Outlying Islands"],
  ["VA", "Vatican City"],
  ["VE", "Venezuela, Bolivarian Republic of"],
  ["VG", "British Virgin Islands"],
  ["VI", "U.S. Virgin Islands"],
  ["VN", "Viet Nam"],
];

const alpha2Codes: ReadonlySet<string> = new Set(Object.keys(getAlpha2Codes()));

/** Kosovo is written in several ways: Apple's storefront and older systems among them. */
const byAlpha3: ReadonlyMap<string, string> = new Map([
  ...Object.entries(getAlpha3Codes()),
  ...["XKX", "XKS", "XXK"].map((code) => [code, "XK"] as const),
]);

const english: LocaleData = createRequire(import.meta.url)("i18n-iso-countries/langs/en.json");

const byName: ReadonlyMap<string, string> = new Map(
  [
    ...Object.entries(english.countries).flatMap(([alpha2, names]) =>
      [names].flat().map((name) => [alpha2, name] as const),
    ),
    ...moreNames,
  ].map(([alpha2, name]) => [folded(name), alpha2]),
);
