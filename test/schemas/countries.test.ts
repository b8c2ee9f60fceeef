import { expect } from "chai";
import { alpha2OfAlpha3, alpha2OfName, isCountry } from "../../schemas/countries.js";

describe("Countries", () => {
  const names: readonly [name: string, alpha2: string | null][] = [
    ["Germany", "DE"],
    ["United States", "US"],
    ["United States of America", "US"],
    ["The Netherlands", "NL"],
    ["Czechia", "CZ"],
    ["Czech Republic", "CZ"],
    ["South Korea", "KR"],
    ["Korea, Republic of", "KR"],
    ["Türkiye", "TR"],
    ["Turkey", "TR"],
    ["Côte d'Ivoire", "CI"],
    ["Ivory Coast", "CI"],
    ["São Tomé and Príncipe", "ST"],
    ["Sao Tome & Principe", "ST"],
    ["St Vincent and Grenadines", "VC"],
    ["Congo Republic", "CG"],
    ["DR Congo", "CD"],
    ["U.S. Virgin Islands", "VI"],
    ["Hong Kong", "HK"],
    ["Kosovo", "XK"],
    ["Atlantis", null],
    ["", null],
  ];
  for (const [name, alpha2] of names) {
    it(`should read the name “${name}” as ${alpha2}`, () => {
      expect(alpha2OfName(name)).to.equal(alpha2);
    });
  }

  it("should know the codes of ISO 3166-1, Kosovo's, and the one for unknown", () => {
    const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
    const pairs = letters.flatMap((one) => letters.map((other) => one + other));
    expect(pairs.filter(isCountry)).to.have.length(249 + 2);
    for (const code of ["DE", "GB", "XK", "ZZ"]) expect(isCountry(code), code).to.equal(true);
    for (const code of ["UK", "EU", "de", "DEU", ""]) expect(isCountry(code), code).to.equal(false);
  });

  const codes: readonly [alpha3: string, alpha2: string | null][] = [
    ["USA", "US"],
    ["deu", "DE"],
    ["GBR", "GB"],
    ["XKS", "XK"],
    ["ZZZ", null],
    ["US", null],
  ];
  for (const [alpha3, alpha2] of codes) {
    it(`should read the code ${alpha3} as ${alpha2}`, () => {
      expect(alpha2OfAlpha3(alpha3)).to.equal(alpha2);
    });
  }
});
