/**
 * Countries of ISO 3166-1: the alpha-2 codes we keep, also from the alpha-3 codes (Apple) and the
 * English names (Gumroad) some providers send.
 *
 * Source: Debian's iso-codes (codes, names, common names) and the English names of npm
 * i18n-iso-countries 7.14.0, made into one table on 2026-11-21; added by hand are the names
 * MaxMind's GeoIP gives, which is where Gumroad's `ip_country` comes from. Kosovo has no code of
 * ISO: XK is the one everybody uses.
 */

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
  return byName.get(name) ?? byName.get(folded(name)) ?? null;
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

/** Alpha-2, alpha-3, names. A country of many names has several lines. */
const table = `
  AD AND Andorra
  AE ARE United Arab Emirates | UAE
  AF AFG Afghanistan
  AG ATG Antigua and Barbuda
  AI AIA Anguilla
  AL ALB Albania
  AM ARM Armenia
  AO AGO Angola
  AQ ATA Antarctica
  AR ARG Argentina
  AS ASM American Samoa
  AT AUT Austria
  AU AUS Australia
  AW ABW Aruba
  AX ALA Åland Islands | Åland
  AZ AZE Azerbaijan
  BA BIH Bosnia and Herzegovina
  BB BRB Barbados
  BD BGD Bangladesh
  BE BEL Belgium
  BF BFA Burkina Faso
  BG BGR Bulgaria
  BH BHR Bahrain
  BI BDI Burundi
  BJ BEN Benin
  BL BLM Saint Barthélemy
  BM BMU Bermuda
  BN BRN Brunei Darussalam | Brunei
  BO BOL Bolivia | Bolivia, Plurinational State of
  BQ BES Bonaire, Sint Eustatius and Saba | Caribbean Netherlands
  BR BRA Brazil
  BS BHS Bahamas
  BT BTN Bhutan
  BV BVT Bouvet Island
  BW BWA Botswana
  BY BLR Belarus
  BZ BLZ Belize
  CA CAN Canada
  CC CCK Cocos (Keeling) Islands
  CD COD Congo, The Democratic Republic of the | Democratic Republic of the Congo | DR Congo
  CF CAF Central African Republic
  CG COG Congo | Republic of the Congo | Congo Republic
  CH CHE Switzerland
  CI CIV Côte d'Ivoire | Ivory Coast
  CK COK Cook Islands
  CL CHL Chile
  CM CMR Cameroon
  CN CHN China | People's Republic of China
  CO COL Colombia
  CR CRI Costa Rica
  CU CUB Cuba
  CV CPV Cabo Verde | Cape Verde
  CW CUW Curaçao
  CX CXR Christmas Island
  CY CYP Cyprus
  CZ CZE Czechia | Czech Republic
  DE DEU Germany
  DJ DJI Djibouti
  DK DNK Denmark
  DM DMA Dominica
  DO DOM Dominican Republic
  DZ DZA Algeria
  EC ECU Ecuador
  EE EST Estonia
  EG EGY Egypt
  EH ESH Western Sahara
  ER ERI Eritrea
  ES ESP Spain
  ET ETH Ethiopia
  FI FIN Finland
  FJ FJI Fiji
  FK FLK Falkland Islands (Malvinas) | Falkland Islands
  FM FSM Micronesia, Federated States of | Federated States of Micronesia | Micronesia
  FO FRO Faroe Islands
  FR FRA France
  GA GAB Gabon
  GB GBR United Kingdom | UK | Great Britain
  GD GRD Grenada
  GE GEO Georgia
  GF GUF French Guiana
  GG GGY Guernsey
  GH GHA Ghana
  GI GIB Gibraltar
  GL GRL Greenland
  GM GMB Gambia | Republic of The Gambia
  GN GIN Guinea
  GP GLP Guadeloupe
  GQ GNQ Equatorial Guinea
  GR GRC Greece
  GS SGS South Georgia and the South Sandwich Islands
  GT GTM Guatemala
  GU GUM Guam
  GW GNB Guinea-Bissau
  GY GUY Guyana
  HK HKG Hong Kong | Hong Kong SAR
  HM HMD Heard Island and McDonald Islands | Heard and McDonald Islands
  HN HND Honduras
  HR HRV Croatia
  HT HTI Haiti
  HU HUN Hungary
  ID IDN Indonesia
  IE IRL Ireland
  IL ISR Israel
  IM IMN Isle of Man
  IN IND India
  IO IOT British Indian Ocean Territory
  IQ IRQ Iraq
  IR IRN Iran | Iran, Islamic Republic of | Islamic Republic of Iran
  IS ISL Iceland
  IT ITA Italy
  JE JEY Jersey
  JM JAM Jamaica
  JO JOR Jordan | Hashemite Kingdom of Jordan
  JP JPN Japan
  KE KEN Kenya
  KG KGZ Kyrgyzstan
  KH KHM Cambodia
  KI KIR Kiribati
  KM COM Comoros
  KN KNA Saint Kitts and Nevis
  KP PRK North Korea | Korea, Democratic People's Republic of
  KR KOR South Korea | Korea, Republic of | Republic of Korea
  KW KWT Kuwait
  KY CYM Cayman Islands
  KZ KAZ Kazakhstan
  LA LAO Laos | Lao People's Democratic Republic
  LB LBN Lebanon
  LC LCA Saint Lucia
  LI LIE Liechtenstein
  LK LKA Sri Lanka
  LR LBR Liberia
  LS LSO Lesotho
  LT LTU Lithuania | Republic of Lithuania
  LU LUX Luxembourg
  LV LVA Latvia
  LY LBY Libya
  MA MAR Morocco
  MC MCO Monaco
  MD MDA Moldova | Moldova, Republic of | Republic of Moldova
  ME MNE Montenegro
  MF MAF Saint Martin (French part) | Saint Martin
  MG MDG Madagascar
  MH MHL Marshall Islands
  MK MKD North Macedonia | The Republic of North Macedonia | Macedonia
  MK MKD Macedonia, the former Yugoslav Republic of
  ML MLI Mali
  MM MMR Myanmar | Burma
  MN MNG Mongolia
  MO MAC Macao | Macau
  MP MNP Northern Mariana Islands
  MQ MTQ Martinique
  MR MRT Mauritania
  MS MSR Montserrat
  MT MLT Malta
  MU MUS Mauritius
  MV MDV Maldives
  MW MWI Malawi
  MX MEX Mexico
  MY MYS Malaysia
  MZ MOZ Mozambique
  NA NAM Namibia
  NC NCL New Caledonia
  NE NER Niger
  NF NFK Norfolk Island
  NG NGA Nigeria
  NI NIC Nicaragua
  NL NLD Netherlands | Netherlands (Kingdom of the)
  NO NOR Norway
  NP NPL Nepal
  NR NRU Nauru
  NU NIU Niue
  NZ NZL New Zealand
  OM OMN Oman
  PA PAN Panama
  PE PER Peru
  PF PYF French Polynesia
  PG PNG Papua New Guinea
  PH PHL Philippines
  PK PAK Pakistan
  PL POL Poland
  PM SPM Saint Pierre and Miquelon
  PN PCN Pitcairn | Pitcairn Islands
  PR PRI Puerto Rico
  PS PSE Palestine, State of | State of Palestine | Palestine | Palestinian Territory
  PT PRT Portugal
  PW PLW Palau
  PY PRY Paraguay
  QA QAT Qatar
  RE REU Réunion
  RO ROU Romania
  RS SRB Serbia
  RU RUS Russian Federation | Russia
  RW RWA Rwanda
  SA SAU Saudi Arabia
  SB SLB Solomon Islands
  SC SYC Seychelles
  SD SDN Sudan
  SE SWE Sweden
  SG SGP Singapore
  SH SHN Saint Helena, Ascension and Tristan da Cunha | Saint Helena
  SI SVN Slovenia
  SJ SJM Svalbard and Jan Mayen
  SK SVK Slovakia
  SL SLE Sierra Leone
  SM SMR San Marino
  SN SEN Senegal
  SO SOM Somalia
  SR SUR Suriname
  SS SSD South Sudan
  ST STP Sao Tome and Principe
  SV SLV El Salvador
  SX SXM Sint Maarten (Dutch part) | Sint Maarten
  SY SYR Syria | Syrian Arab Republic
  SZ SWZ Eswatini | Swaziland
  TC TCA Turks and Caicos Islands
  TD TCD Chad
  TF ATF French Southern Territories
  TG TGO Togo
  TH THA Thailand
  TJ TJK Tajikistan
  TK TKL Tokelau
  TL TLS Timor-Leste | East Timor
  TM TKM Turkmenistan
  TN TUN Tunisia
  TO TON Tonga
  TR TUR Türkiye | Turkey
  TT TTO Trinidad and Tobago
  TV TUV Tuvalu
  TW TWN Taiwan | Taiwan, Province of China
  TZ TZA Tanzania | Tanzania, United Republic of | United Republic of Tanzania
  UA UKR Ukraine
  UG UGA Uganda
  UM UMI United States Minor Outlying Islands | U.S. Outlying Islands
  US USA United States | United States of America | USA | U.S.A. | US | U.S.
  UY URY Uruguay
  UZ UZB Uzbekistan
  VA VAT Holy See (Vatican City State) | Vatican City
  VC VCT Saint Vincent and the Grenadines
  VE VEN Venezuela | Venezuela, Bolivarian Republic of
  VG VGB Virgin Islands, British | British Virgin Islands
  VI VIR Virgin Islands, U.S. | U.S. Virgin Islands
  VN VNM Vietnam | Viet Nam
  VU VUT Vanuatu
  WF WLF Wallis and Futuna
  WS WSM Samoa
  XK XKX Kosovo
  YE YEM Yemen
  YT MYT Mayotte
  ZA ZAF South Africa
  ZM ZMB Zambia
  ZW ZWE Zimbabwe
`;

const rows = table
  .trim()
  .split("\n")
  .map((line) => {
    const [alpha2 = "", alpha3 = "", ...words] = line.trim().split(" ");
    return { alpha2, alpha3, names: words.join(" ").split(" | ") };
  });

const alpha2Codes: ReadonlySet<string> = new Set(rows.map(({ alpha2 }) => alpha2));

/** Apple's storefront and older systems write Kosovo in two more ways. */
const byAlpha3: ReadonlyMap<string, string> = new Map([
  ...rows.map(({ alpha2, alpha3 }) => [alpha3, alpha2] as const),
  ["XKS", "XK"],
  ["XXK", "XK"],
]);

/** As they stand in the table, which is how most come, and folded. */
const byName: ReadonlyMap<string, string> = new Map(
  rows.flatMap(({ alpha2, names }) =>
    names.flatMap((name) => [name, folded(name)].map((each) => [each, alpha2] as const)),
  ),
);
