/** Stripe's and Paddle's deliveries: signed with their time in one header, and their headings. */
import { createHmac } from "node:crypto";
import { expect } from "chai";
import { createPaddle } from "../../providers/paddle/index.js";
import { createStripe } from "../../providers/stripe/index.js";

const stripe = createStripe({ toleranceSeconds: 300 });
const paddle = createPaddle({ toleranceSeconds: 60 });
const t = 1_763_600_000;
const body = Buffer.from('{"id":"evt_1"}');
const wrong = "0".repeat(64);

const schemes = [
  {
    name: "Stripe",
    provider: stripe,
    header: "stripe-signature",
    separator: ",",
    time: "t",
    digest: "v1",
    // A dummy: accepting it would allow a downgrade.
    otherDigest: "v0",
    joint: ".",
    toleranceSeconds: 300,
    secret: "whsec_c2lnbmF0dXJlcw",
    /**
     * Published by Stripe: stripe/stripe-dotnet @ d33036292e0fba185de235ce26836eebba9f91fd,
     * src/StripeTests/Services/Events/EventUtilityTest.cs with
     * src/StripeTests/Resources/event_test_signature.json (the final newline is signed, too).
     */
    published: {
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
    },
  },
  {
    name: "Paddle",
    provider: paddle,
    header: "paddle-signature",
    separator: ";",
    time: "ts",
    digest: "h1",
    otherDigest: "h2",
    joint: ":",
    toleranceSeconds: 60,
    secret: "pdl_ntfset_01jdatlas_c2lnbmF0dXJl",
    /**
     * Published by Paddle: PaddleHQ/paddle-node-sdk @ b8ee4b12741d88abe5a33f5c8a74735c9ac3653f,
     * src/__tests__/notifications/webhooks-validator.node.test.ts.
     */
    published: {
      secret: "VALID_SECRET",
      header: "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9",
      body: '{"data": ["1", "2"]}',
      verifyAt: 1_698_796_800_000,
    },
  },
];

for (const scheme of schemes) {
  const { name, provider, separator, secret, published, toleranceSeconds: tolerance } = scheme;

  describe(`${name}'s signature`, () => {
    const verdictOf = async (
      header: string | undefined,
      secrets = [secret],
      signed = body,
      now = t * 1000,
    ): Promise<string> => {
      const delivery = { headers: { [scheme.header]: header }, body: signed };
      const given = secrets.map((signing_secret) => ({ signing_secret }));
      const verdict = await provider.verify(delivery, given, now);
      return verdict.ok ? verdict.verdict : verdict.reason;
    };

    const vectors: [what: string, text: string, verdict: string][] = [
      ["as it is", published.body, "signature"],
      ["with its blanks taken out", published.body.replaceAll(" ", ""), "signature_mismatch"],
      ["with more behind it", `${published.body}this_changes_the_json`, "signature_mismatch"],
    ];
    for (const [what, text, verdict] of vectors) {
      it(`should answer ${verdict} to the published vector ${what}`, async () => {
        const signed = Buffer.from(text);
        const found = verdictOf(published.header, [published.secret], signed, published.verifyAt);
        expect(await found).to.equal(verdict);
      });
    }

    /** Apart from `sign`, by the provider's description: hex HMAC-SHA256. */
    const digestOf = (seconds: number, key = secret): string =>
      createHmac("sha256", key).update(`${seconds}${scheme.joint}${body.toString()}`).digest("hex");
    const at = (seconds: number | string) => `${scheme.time}=${seconds}`;
    const by = (digest: string) => `${scheme.digest}=${digest}`;
    const other = (digest: string) => `${scheme.otherDigest}=${digest}`;
    const header = (...fields: string[]) => fields.join(separator);
    const aged = (seconds: number) => header(at(t + seconds), by(digestOf(t + seconds)));
    const good = digestOf(t);

    it(`should sign what it verifies, as ${name} describes it`, () => {
      const { headers } = provider.sign(body, { signing_secret: secret }, t * 1000);
      expect(headers[scheme.header]).to.equal(header(at(t), by(good)));
    });

    const otherSeparator = separator === "," ? ";" : ",";
    const many = Array.from({ length: 16 }, () => by(wrong));
    const cases: readonly [title: string, header: string | undefined, verdict: string][] = [
      ["no header", undefined, "signature_missing"],
      ["an empty header", "", "signature_missing"],
      ["text that is no signature", "hello", "signature_malformed"],
      ["no time", by(good), "signature_malformed"],
      ["a time that is no number", header(at("now"), by(good)), "signature_malformed"],
      ["two times", header(at(t), at(t), by(good)), "signature_malformed"],
      ["no signature", at(t), "signature_malformed"],
      ["only another scheme, even if right", header(at(t), other(good)), "signature_malformed"],
      ["another separator", at(t) + otherSeparator + by(good), "signature_malformed"],
      [
        "a signature of another secret",
        header(at(t), by(digestOf(t, "another"))),
        "signature_mismatch",
      ],
      ["a signature cut short", header(at(t), by(good.slice(0, 62))), "signature_mismatch"],
      ["a signature in capitals", header(at(t), by(good.toUpperCase())), "signature_mismatch"],
      ["a time that was not signed", header(at(t - 1), by(good)), "signature_mismatch"],
      [
        "more signatures than a rotation needs",
        header(at(t), ...many, by(good)),
        "signature_mismatch",
      ],
      ["the right one", header(at(t), by(good)), "signature"],
      ["blanks after the separators", `${at(t)}${separator} ${by(good)}`, "signature"],
      ["the right one last (a secret is rolled)", header(at(t), by(wrong), by(good)), "signature"],
      [
        "the right one first, which Paddle's SDK refuses",
        header(at(t), by(good), by(wrong)),
        "signature",
      ],
      ["another scheme beside it", header(at(t), other(wrong), by(good)), "signature"],
      ["one as old as may be", aged(-tolerance), "signature"],
      ["one a second older", aged(-tolerance - 1), "signature_stale"],
      ["one as far ahead as may be", aged(tolerance), "signature"],
      ["one a second further ahead", aged(tolerance + 1), "signature_stale"],
    ];
    for (const [title, given, verdict] of cases) {
      it(`should answer ${verdict} to ${title}`, async () => {
        expect(await verdictOf(given)).to.equal(verdict);
      });
    }

    it("should take a secret pasted with blanks, and any of several secrets", async () => {
      const signed = header(at(t), by(good));
      expect(await verdictOf(signed, ["old", ` ${secret}\n`])).to.equal("signature");
      expect(await verdictOf(signed, [])).to.equal("signature_mismatch");
    });
  });
}

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

describe("Paddle's heading", () => {
  const event = {
    event_id: "evt_1",
    event_type: "transaction.completed",
    notification_id: "ntf_1",
  };
  const heading = { nativeId: "evt_1", nativeType: "transaction.completed", sandbox: null };
  const cases: readonly [title: string, given: unknown, expected: unknown][] = [
    [
      "the customer",
      { ...event, data: { id: "txn_1", customer_id: "ctm_1" } },
      { ...heading, accountHint: "ctm_1" },
    ],
    [
      "the entity without a customer",
      { ...event, data: { id: "pro_1" } },
      { ...heading, accountHint: "pro_1" },
    ],
    [
      "what the simulator sends as a test",
      { ...event, notification_id: "ntfsimntf_1", data: { id: "txn_1" } },
      { ...heading, sandbox: true, accountHint: "txn_1" },
    ],
    ["nothing from a plain entity", { id: "txn_1", status: "completed" }, null],
    ["nothing from an event without data", event, null],
  ];
  for (const [title, given, expected] of cases) {
    it(`should read ${title}`, () => {
      expect(paddle.heading(given)).to.deep.equal(expected);
    });
  }
});
