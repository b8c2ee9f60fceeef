import { createHmac } from "node:crypto";
import { expect } from "chai";
import { createStripe } from "../../../providers/stripe/index.js";

const stripe = createStripe({ toleranceSeconds: 300 });
const nowSeconds = 1_763_600_000;
const now = nowSeconds * 1000;
const secret = "whsec_c2lnbmF0dXJlcw";
const body = Buffer.from('{"id":"evt_1"}');

/**
 * Published by Stripe: stripe/stripe-dotnet @ d33036292e0fba185de235ce26836eebba9f91fd,
 * src/StripeTests/Services/Events/EventUtilityTest.cs with
 * src/StripeTests/Resources/event_test_signature.json (the final newline is signed, too).
 */
const published = {
  secret: "webhook_secret",
  header:
    "t=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7," +
    "v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef",
  verifyAt: 1_533_204_720_000,
  body: `{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "cus_123",
      "object": "customer",
      "created": 123456789,
      "email": "test@stripe.com",
      "livemode": false,
      "metadata": {}
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "customer.created"
}
`,
};

async function verdictOf(header: string | undefined, secrets = [secret]): Promise<string> {
  const verdict = await stripe.verify(
    { headers: { "stripe-signature": header }, body },
    secrets.map((signing_secret) => ({ signing_secret })),
    now,
  );
  return verdict.ok ? "ok" : verdict.reason;
}

/** Apart from `sign`, by Stripe's description: hex HMAC-SHA256 of `<t>.<body>`. */
function v1(seconds: number, key = secret): string {
  return createHmac("sha256", key).update(`${seconds}.${body.toString()}`).digest("hex");
}

describe("Stripe's signature", () => {
  const vector = async (text: string) =>
    stripe.verify(
      { headers: { "stripe-signature": published.header }, body: Buffer.from(text) },
      [{ signing_secret: published.secret }],
      published.verifyAt,
    );

  it("should accept the published vector", async () => {
    expect(await vector(published.body)).to.deep.equal({ ok: true, verdict: "signature" });
  });

  it("should refuse the published vector with its body altered", async () => {
    expect(await vector(`${published.body}this_changes_the_json`)).to.deep.equal({
      ok: false,
      reason: "signature_mismatch",
    });
  });

  it("should sign what it verifies, as Stripe describes it", () => {
    const { headers } = stripe.sign(body, { signing_secret: secret }, now);
    expect(headers["stripe-signature"]).to.equal(`t=${nowSeconds},v1=${v1(nowSeconds)}`);
  });

  const t = nowSeconds;
  const good = v1(t);
  const bad = "0".repeat(64);
  const cases: readonly [title: string, header: string | undefined, verdict: string][] = [
    ["no header", undefined, "signature_missing"],
    ["an empty header", "", "signature_missing"],
    ["text that is no signature", "hello", "signature_malformed"],
    ["no time", `v1=${good}`, "signature_malformed"],
    ["a time that is no number", `t=now,v1=${good}`, "signature_malformed"],
    ["two times", `t=${t},t=${t},v1=${good}`, "signature_malformed"],
    ["no signature", `t=${t}`, "signature_malformed"],
    ["only the dummy scheme v0, even if right", `t=${t},v0=${good}`, "signature_malformed"],
    ["a signature of another secret", `t=${t},v1=${v1(t, "whsec_b3RoZXI")}`, "signature_mismatch"],
    ["a signature cut short", `t=${t},v1=${good.slice(0, 62)}`, "signature_mismatch"],
    ["a time that was not signed", `t=${t - 1},v1=${good}`, "signature_mismatch"],
    ["the right one", `t=${t},v1=${good}`, "ok"],
    ["blanks after the commas", `t=${t}, v1=${good}`, "ok"],
    ["a wrong one before the right one (a secret is rolled)", `t=${t},v1=${bad},v1=${good}`, "ok"],
    ["a scheme to come", `t=${t},v2=${bad},v1=${good}`, "ok"],
    ["300 seconds old", `t=${t - 300},v1=${v1(t - 300)}`, "ok"],
    ["301 seconds old", `t=${t - 301},v1=${v1(t - 301)}`, "signature_stale"],
    ["300 seconds ahead", `t=${t + 300},v1=${v1(t + 300)}`, "ok"],
    ["301 seconds ahead", `t=${t + 301},v1=${v1(t + 301)}`, "signature_stale"],
  ];
  for (const [title, header, verdict] of cases) {
    it(`should answer ${verdict} to ${title}`, async () => {
      expect(await verdictOf(header)).to.equal(verdict);
    });
  }

  it("should look past more signatures than a rotation needs", async () => {
    const many = Array.from({ length: 16 }, () => `v1=${bad}`).join(",");
    expect(await verdictOf(`t=${t},${many},v1=${good}`)).to.equal("signature_mismatch");
  });

  it("should take a secret pasted with blanks, and any of several secrets", async () => {
    expect(await verdictOf(`t=${t},v1=${good}`, ["whsec_b2xk", ` ${secret}\n`])).to.equal("ok");
    expect(await verdictOf(`t=${t},v1=${good}`, [])).to.equal("signature_mismatch");
  });
});

describe("Stripe's heading", () => {
  const event = { id: "evt_1", object: "event", type: "charge.succeeded" };
  const data = { object: { id: "ch_1", customer: "cus_1" } };
  const heading = { nativeId: "evt_1", nativeType: "charge.succeeded" };

  const cases: readonly [title: string, given: unknown, expected: unknown][] = [
    [
      "the customer of a live event",
      { ...event, livemode: true, data },
      { ...heading, sandbox: false, accountHint: "cus_1" },
    ],
    [
      "the object of a sandbox event of a guest",
      { ...event, livemode: false, data: { object: { id: "ch_1", customer: null } } },
      { ...heading, sandbox: true, accountHint: "ch_1" },
    ],
    [
      "no sandbox flag where there is none",
      { ...event, data },
      { ...heading, sandbox: null, accountHint: "cus_1" },
    ],
    [
      "a thin event's object",
      { ...event, object: "v2.core.event", livemode: true, related_object: { id: "sub_1" } },
      { ...heading, sandbox: false, accountHint: "sub_1" },
    ],
    ["nothing from a plain object", { id: "ch_1", object: "charge" }, null],
    ["nothing from an event without an object", { ...event, data: {} }, null],
  ];
  for (const [title, given, expected] of cases) {
    it(`should read ${title}`, () => {
      expect(stripe.heading(given)).to.deep.equal(expected);
    });
  }
});
