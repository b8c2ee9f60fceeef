import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { createLemonSqueezy } from "../../providers/lemonsqueezy/index.js";
import { projectFile } from "../../runtime/project-root.js";

const lemon = createLemonSqueezy();
const now = 1_763_600_000_000;
const secret = "a harbor with 7 boats";
const body = Buffer.from('{"meta":{"event_name":"order_created"}}');

/**
 * Published by a client's authors: NdoleStudio/lemonsqueezy-go @
 * b0f6ba0f56cc6825f722072d4c0f79c3d4deaa0b, webhooks_service_test.go with internal/stubs
 * /webhook.go. Every byte counts: the body begins with a newline and holds one tab.
 */
const published = {
  body: readFileSync(projectFile("test", "providers", "lemonsqueezy-published-order.txt"), "utf8"),
  secret: "signing-secret",
  signature: "743c0dcfaab3a3d06198183501fb92cc82e548febc80937f3fb236a4932f748f",
};

async function verdictOf(
  header: string | undefined,
  secrets = [secret],
  signed = body,
): Promise<string> {
  const delivery = { headers: { "x-signature": header }, body: signed };
  const given = secrets.map((signing_secret) => ({ signing_secret }));
  const verdict = await lemon.verify(delivery, given, now);
  return verdict.ok ? verdict.verdict : verdict.reason;
}

/** Apart from `sign`, by Lemon Squeezy's description: hex HMAC-SHA256 of the body. */
function digest(key = secret, text = body): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

describe("Lemon Squeezy's signature", () => {
  const vectors: [what: string, text: string, verdict: string][] = [
    ["as it is", published.body, "signature"],
    ["with its first newline taken off", published.body.trimStart(), "signature_mismatch"],
  ];
  for (const [what, text, expected] of vectors) {
    it(`should answer ${expected} to the published vector ${what}`, async () => {
      const { signature, secret: other } = published;
      expect(await verdictOf(signature, [other], Buffer.from(text))).to.equal(expected);
    });
  }

  it("should sign what it verifies, as Lemon Squeezy describes it", () => {
    const { headers } = lemon.sign(body, { signing_secret: secret }, now);
    expect(headers["x-signature"]).to.equal(digest());
  });

  const good = digest();
  const cases: readonly [title: string, header: string | undefined, verdict: string][] = [
    ["no header", undefined, "signature_missing"],
    ["an empty header", "", "signature_missing"],
    ["text that is no signature", "hello", "signature_malformed"],
    ["a signature cut short", good.slice(0, 62), "signature_malformed"],
    ["a signature in capitals", good.toUpperCase(), "signature_malformed"],
    ["two signatures", `${good},${good}`, "signature_malformed"],
    ["a signature of another secret", digest("another harbor"), "signature_mismatch"],
    ["a signature of another body", digest(secret, Buffer.from("{}")), "signature_mismatch"],
    ["the right one", good, "signature"],
  ];
  for (const [title, header, verdict] of cases) {
    it(`should answer ${verdict} to ${title}`, async () => {
      expect(await verdictOf(header)).to.equal(verdict);
    });
  }

  it("should take the old secret for a while after it was changed", async () => {
    expect(await verdictOf(good, ["a new harbor", ` ${secret}\n`])).to.equal("signature");
    expect(await verdictOf(good, [])).to.equal("signature_mismatch");
  });
});
