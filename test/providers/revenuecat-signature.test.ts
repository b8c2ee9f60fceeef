import { createHmac } from "node:crypto";
import { expect } from "chai";
import { createRevenueCat, type RevenueCatCredentials } from "../../providers/revenuecat/index.js";

const revenuecat = createRevenueCat({ toleranceSeconds: 300 });
const nowSeconds = 1_763_600_000;
const now = nowSeconds * 1000;
const authorization = "Bearer k3-9f21";
const secret = "rc_signing_8c1d";
const body = Buffer.from('{"api_version":"1.0","event":{"id":"rcevt_1","type":"TEST"}}');

/** Apart from `sign`, by RevenueCat's description: hex HMAC-SHA256 of `<t>.<body>`. */
function signature(seconds = nowSeconds, key = secret): string {
  const digest = createHmac("sha256", key).update(`${seconds}.${body.toString()}`).digest("hex");
  return `t=${seconds},v1=${digest}`;
}

async function verdictOf(
  headers: { readonly header?: string; readonly signature?: string },
  ...given: RevenueCatCredentials[]
): Promise<string> {
  const delivery = {
    headers: {
      authorization: headers.header,
      "x-revenuecat-webhook-signature": headers.signature,
    },
    body,
  };
  const verdict = await revenuecat.verify(delivery, given, now);
  return verdict.ok ? verdict.verdict : verdict.reason;
}

describe("RevenueCat's two proofs", () => {
  const byHeader = { authorization };
  const bySignature = { signing_secret: secret };
  const byBoth = { authorization, signing_secret: secret };
  const signed = { signature: signature() };
  const stale = nowSeconds - 301;
  const rolled = signature(nowSeconds, "new");
  const two = `${rolled},${signature().split(",")[1]}`;
  const cases: readonly [title: string, verdict: Promise<string>, expected: string][] = [
    ["the fixed header", verdictOf({ header: authorization }, byHeader), "authorization"],
    ["another header", verdictOf({ header: "Bearer k3-9f22" }, byHeader), "signature_mismatch"],
    ["a longer header", verdictOf({ header: `${authorization}0` }, byHeader), "signature_mismatch"],
    ["no header", verdictOf({}, byHeader), "signature_missing"],
    ["a signature where a header is wanted", verdictOf(signed, byHeader), "signature_missing"],
    ["the signature", verdictOf(signed, bySignature), "signature"],
    [
      "a header where a signature is wanted",
      verdictOf({ header: authorization }, bySignature),
      "signature_missing",
    ],
    ["both", verdictOf({ header: authorization, ...signed }, byBoth), "signature"],
    ["only the header of both", verdictOf({ header: authorization }, byBoth), "signature_missing"],
    ["only the signature of both", verdictOf(signed, byBoth), "signature_missing"],
    ["both, the header wrong", verdictOf({ header: "x", ...signed }, byBoth), "signature_mismatch"],
    [
      "both, the signature foreign",
      verdictOf({ header: authorization, signature: rolled }, byBoth),
      "signature_mismatch",
    ],
    ["two signatures while one is rolled", verdictOf({ signature: two }, bySignature), "signature"],
    [
      "the header of a rotation's old credentials",
      verdictOf({ header: "old" }, byHeader, { authorization: "old" }),
      "authorization",
    ],
    ["a stale one", verdictOf({ signature: signature(stale) }, bySignature), "signature_stale"],
  ];
  for (const [title, verdict, expected] of cases) {
    it(`should answer ${expected} to ${title}`, async () => {
      expect(await verdict).to.equal(expected);
    });
  }

  it("should want one of the two, and no others", () => {
    const accepts = (given: object) => revenuecat.credentials.safeParse(given).success;
    expect(accepts(byHeader)).to.equal(true);
    expect(accepts(bySignature)).to.equal(true);
    expect(accepts({})).to.equal(false);
    expect(accepts({ authorization: " " })).to.equal(false);
  });
});
