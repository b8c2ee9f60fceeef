import { expect } from "chai";
import * as fc from "fast-check";
import { jsonDepthMax, parseJson } from "../../schemas/parse.js";

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("JSON of a body", () => {
  const refused: [text: string | Buffer, code: string][] = [
    ["", "json_malformed"],
    ["{", "json_malformed"],
    ['{"a":1}x', "json_malformed"],
    ["NaN", "json_malformed"],
    ["Infinity", "json_malformed"],
    ["01", "json_malformed"],
    ["{'a':1}", "json_malformed"],
    ['{"a":1,}', "json_malformed"],
    ['"a\nb"', "json_malformed"],
    ["\ufeff{}", "json_malformed"],
    [Buffer.from([0x22, 0xff, 0x22]), "json_not_utf8"],
    [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "json_not_utf8"],
    [nested(jsonDepthMax + 1), "json_too_deep"],
    [`{"a":${nested(jsonDepthMax)}}`, "json_too_deep"],
    [nested(200_000), "json_too_deep"],
    ['{"__proto__":{"admin":true}}', "json_forbidden_key"],
    ['{"a":[{"__proto__":null}]}', "json_forbidden_key"],
    ['{"\\u005f_proto__":1}', "json_forbidden_key"],
    ['{"constructor":{"prototype":{}}}', "json_forbidden_key"],
    ['{"a":{"c\\u006fnstructor":{"prototype":1}}}', "json_forbidden_key"],
  ];
  for (const [text, code] of refused) {
    const shown = JSON.stringify(text.toString()).slice(0, 40);
    it(`should be refused as ${code} where it is ${shown}`, () => {
      expect(parseJson(Buffer.from(text))).to.include({ ok: false, code });
    });
  }

  const taken: [text: string, value: unknown][] = [
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"a":1,"\\u0061":2}', { a: 2 }],
    ['{"constructor":1,"prototype":{"a":1}}', JSON.parse('{"constructor":1,"prototype":{"a":1}}')],
    ['"\\u0000\\ud800"', "\u0000\ud800"],
    ["10.00", 10],
    ["19.99", 19.99],
    ["19.990000000000000001", 19.99],
    ["9007199254740993", 9007199254740992],
    ["1e400", Infinity],
    ["1".repeat(101), Number("1".repeat(101))],
    [nested(jsonDepthMax), JSON.parse(nested(jsonDepthMax))],
  ];
  for (const [text, value] of taken) {
    it(`should be read as JSON.parse reads ${text.slice(0, 40)}`, () => {
      expect(parseJson(Buffer.from(text))).to.deep.equal({ ok: true, value });
    });
  }

  it("should be read as JSON.parse reads whatever JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        const parsed = parseJson(Buffer.from(text));
        if (!parsed.ok) expect(parsed.code).to.equal("json_forbidden_key");
        else expect(parsed.value).to.deep.equal(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });
});
