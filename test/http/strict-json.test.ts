import { expect } from "chai";
import * as fc from "fast-check";
import { parseStrictJson } from "../../http/strict-json.js";
import { limits } from "../../config.js";
import { ExactNumber } from "../../schemas/money/exact-number.js";

const parse = (text: string) => parseStrictJson(Buffer.from(text));

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("Strict JSON", () => {
  const refused: [text: string | Buffer, code: string][] = [
    ["", "json_malformed"],
    ["{", "json_malformed"],
    ['{"a":1}x', "json_malformed"],
    ["NaN", "json_malformed"],
    ["Infinity", "json_malformed"],
    ["01", "json_malformed"],
    ["1.", "json_malformed"],
    ["+1", "json_malformed"],
    ["1".repeat(101), "json_number_too_long"],
    [`1${"0".repeat(500_000)}1`, "json_number_too_long"],
    ["{'a':1}", "json_malformed"],
    ['{"a":1,}', "json_malformed"],
    ['"a\nb"', "json_malformed"],
    ["\ufeff{}", "json_malformed"],
    [Buffer.from([0x22, 0xff, 0x22]), "json_not_utf8"],
    [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "json_not_utf8"],
    [nested(limits.jsonDepthMax + 1), "json_too_deep"],
    [nested(200_000), "json_too_deep"],
    ['{"a":1,"a":2}', "json_duplicate_key"],
    ['{"a":1,"a":1}', "json_duplicate_key"],
    ['{"a":1,"\\u0061":1}', "json_duplicate_key"],
    ['[{"b":{"a":1,"c":0,"a":2}}]', "json_duplicate_key"],
    ['{"":1,"":1}', "json_duplicate_key"],
    ['{"1":1,"1":1}', "json_duplicate_key"],
    ['{"__proto__":{"admin":true}}', "json_forbidden_key"],
    ['{"a":[{"__proto__":null}]}', "json_forbidden_key"],
    ['{"\\u005f_proto__":1}', "json_forbidden_key"],
    ['{"a":"\\u0000"}', "json_forbidden_character"],
    ['{"\\ud800":1}', "json_forbidden_character"],
    ['"\\udc00\\ud800"', "json_forbidden_character"],
  ];
  for (const [text, code] of refused) {
    const shown = JSON.stringify(text.toString()).slice(0, 40);
    it(`should refuse ${shown} as ${code}`, () => {
      const result = parseStrictJson(Buffer.from(text));
      expect(result).to.include({ ok: false, code });
    });
  }

  it("should take what is just inside the bounds", () => {
    expect(parse(nested(limits.jsonDepthMax)).ok).to.equal(true);
    expect(
      parse(String.raw`{"a":"\\","b":"\"","c":"\\\"","d":":{[","\\u0061":"\ud83d\ude00"}`),
    ).to.deep.equal({ ok: true, value: { a: "\\", b: '"', c: '\\"', d: ":{[", "\\u0061": "😀" } });
  });

  it("should find the end of a string however long, and whatever is escaped in it", () => {
    for (let length = 0; length < 120; length += 1) {
      for (const tail of ["", '"', "\\", '\\"', '\\\\"x', ':{[,"']) {
        const text = JSON.stringify({ a: `${"x".repeat(length)}${tail}`, b: 9007199254740992 });
        const exact = text.replace("9007199254740992", "9007199254740993");
        expect(parse(text), text).to.deep.equal({ ok: true, value: JSON.parse(text) });
        expect(parse(exact), exact).to.deep.equal({
          ok: true,
          value: { ...JSON.parse(text), b: new ExactNumber("9007199254740993") },
        });
      }
    }
  });

  it("should leave constructor and prototype harmless own keys", () => {
    const result = parse('{"constructor":1,"prototype":{"a":9007199254740993}}');
    expect(result).to.deep.include({ ok: true });
    if (!result.ok) return;
    expect(Object.getPrototypeOf(result.value)).to.equal(Object.prototype);
    expect(Object.keys(Object(result.value))).to.deep.equal(["constructor", "prototype"]);
  });

  const numbers: [token: string, value: number | "exact"][] = [
    ["0", 0],
    ["-0", -0],
    ["10.00", 10],
    ["1e3", 1000],
    ["1.50E+2", 150],
    ["19.99", 19.99],
    ["0.1", 0.1],
    ["0.000", 0],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "exact"],
    ["9007199254740994", 9007199254740994],
    ["-9007199254740993", "exact"],
    ["0.10000000000000000001", "exact"],
    ["19.990000000000000001", "exact"],
    ["123456789012345678901234567890", "exact"],
    ["1e400", "exact"],
    ["1e-400", "exact"],
    ["1e21", 1e21],
    ["100000000000000000000000", 1e23],
    ["1e99999999999999999999", "exact"],
    ["1e308", 1e308],
    ["1e309", "exact"],
    ["5e-324", 5e-324],
    ["4e-324", "exact"],
    ["1.2345678e-320", "exact"],
    [`1${"0".repeat(99)}`, 1e99],
  ];
  for (const [token, value] of numbers) {
    it(`should read ${token} as ${value === "exact" ? "exact text" : "a number"}`, () => {
      const expected = value === "exact" ? new ExactNumber(token) : value;
      expect(parse(`{"a":[ ${token} ]}`)).to.deep.equal({ ok: true, value: { a: [expected] } });
    });
  }

  it("should read a number of few digits as one, for that loses none of them", () => {
    const significant = (digits: string) => digits.replace(/0+$/, "");
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9_999_999_999 }),
        fc.integer({ min: -290, max: 290 }),
        (digits, exponent) => {
          const result = parse(`[${digits}e${exponent}]`);
          const [value] = result.ok && Array.isArray(result.value) ? result.value : [];
          expect(value).to.be.a("number");
          const reported = Number(value).toExponential(14).replace(".", "");
          expect(significant(reported.split("e")[0] ?? "")).to.equal(significant(String(digits)));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("should read whatever JSON.stringify writes as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        const native: unknown = JSON.parse(text);
        const result = parse(text);
        if (!result.ok) {
          expect(result.code).to.be.oneOf(["json_forbidden_key", "json_forbidden_character"]);
        } else expect(result.value).to.deep.equal(native);
      }),
      { numRuns: 2_000 },
    );
  });

  it("should read by hand what JSON.parse reads, but for the number that is too exact", () => {
    const key = fc.string().filter((text) => text !== "__proto__" && !text.includes("\0"));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, true, false, 1.5, -7, 1e-9, 1e30),
        key,
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, "\t"), (plain, indent) => {
        const text = JSON.stringify([plain, "here"], null, indent).replace(
          /"here"(?=\s*\]$)/,
          "0.30000000000000000001",
        );
        expect(parse(text)).to.deep.equal({
          ok: true,
          value: [plain, new ExactNumber("0.30000000000000000001")],
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it("should find a repeated key wherever it stands", () => {
    const key = fc.string({ maxLength: 3 }).filter((text) => !text.includes("\0"));
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.nat()), { maxLength: 6 }), (pairs) => {
        const text = `{${pairs.map(([name, n]) => `${JSON.stringify(name)}:${n}`).join(",")}}`;
        const repeated = new Set(pairs.map(([name]) => name)).size < pairs.length;
        expect(parse(text).ok).to.equal(!repeated);
      }),
    );
  });
});
