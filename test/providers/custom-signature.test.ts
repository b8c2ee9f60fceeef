import { createHmac } from "node:crypto";
import { expect } from "chai";
import { bounded } from "../../providers/bounded.js";
import { createCustom } from "../../providers/custom/index.js";

const custom = createCustom({ toleranceSeconds: 300 });
const nowSeconds = 1_763_600_000;
const now = nowSeconds * 1000;
const key = Buffer.from("twenty-four bytes or more of it");
const secret = `whsec_${key.toString("base64")}`;
const otherSecret = `whsec_${Buffer.from("another key of sufficient length").toString("base64")}`;
const body = Buffer.from('{"event_type":"transaction.sale","amount":1,"currency":"USD"}');
const id = "msg_2f8Qm1";

/**
 * Published by Standard Webhooks: standard-webhooks/standard-webhooks @
 * b2fa7b8719fb75d326b591077f5d1b385cfcdfae, libraries/javascript/src/webhook.test.ts.
 */
const published = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  headers: {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  verifyAt: 1_614_265_330_000,
  body: '{"test": 2432232314}',
};

/** Apart from `sign`, by the standard's description. */
function v1(seconds = nowSeconds, with_ = key, message = id): string {
  const digest = createHmac("sha256", with_).update(`${message}.${seconds}.${body.toString()}`);
  return `v1,${digest.digest("base64")}`;
}

async function verdictOf(
  signature: string | undefined,
  more: Readonly<Record<string, string | undefined>> = {},
  secrets = [secret],
): Promise<string> {
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": `${nowSeconds}`,
    "webhook-signature": signature,
    ...more,
  };
  const given = secrets.map((signing_secret) => ({ signing_secret }));
  const verdict = await custom.verify({ headers, body }, given, now);
  return verdict.ok ? "ok" : verdict.reason;
}

describe("A custom webhook's signature", () => {
  const vector = async (text: string) =>
    custom.verify(
      { headers: published.headers, body: Buffer.from(text) },
      [{ signing_secret: published.secret }],
      published.verifyAt,
    );

  it("should accept the published vector", async () => {
    expect(await vector(published.body)).to.deep.equal({ ok: true, verdict: "signature" });
  });

  it("should refuse the published vector with its body altered", async () => {
    expect(await vector(`${published.body} `)).to.deep.equal({
      ok: false,
      reason: "signature_mismatch",
    });
  });

  const late = nowSeconds - 301;
  const early = nowSeconds + 301;
  const bare = key.toString("base64");
  const cases: readonly [title: string, verdict: Promise<string>, expected: string][] = [
    ["the right signature", verdictOf(v1()), "ok"],
    ["a secret without its prefix", verdictOf(v1(), {}, [bare]), "ok"],
    ["the right one after a foreign one", verdictOf(`v1,${"A".repeat(43)}= ${v1()}`), "ok"],
    ["a second version beside it", verdictOf(`v1a,c2lnbmF0dXJl ${v1()}`), "ok"],
    ["the old secret of a rotation", verdictOf(v1(), {}, [otherSecret, secret]), "ok"],
    ["only a foreign one", verdictOf(v1(nowSeconds, Buffer.from("x"))), "signature_mismatch"],
    ["another message's id", verdictOf(v1(), { "webhook-id": "msg_9" }), "signature_mismatch"],
    ["no signature", verdictOf(undefined), "signature_missing"],
    ["an empty signature", verdictOf(""), "signature_missing"],
    ["no id", verdictOf(v1(), { "webhook-id": undefined }), "signature_missing"],
    ["no timestamp", verdictOf(v1(), { "webhook-timestamp": undefined }), "signature_missing"],
    [
      "a timestamp that is none",
      verdictOf(v1(), { "webhook-timestamp": "1e9" }),
      "signature_malformed",
    ],
    ["an entry without a comma", verdictOf(v1().replace(",", "")), "signature_malformed"],
    ["an empty value", verdictOf("v1,"), "signature_malformed"],
    ["base64 without padding", verdictOf(v1().replace("=", "")), "signature_malformed"],
    ["only a version not known here", verdictOf("v1a,c2lnbmF0dXJl"), "signature_malformed"],
    [
      "a later body's timestamp",
      verdictOf(v1(), { "webhook-timestamp": `${nowSeconds + 1}` }),
      "signature_mismatch",
    ],
    ["one too old", verdictOf(v1(late), { "webhook-timestamp": `${late}` }), "signature_stale"],
    [
      "one from the future",
      verdictOf(v1(early), { "webhook-timestamp": `${early}` }),
      "signature_stale",
    ],
  ];
  for (const [title, verdict, expected] of cases) {
    it(`should answer ${expected} to ${title}`, async () => {
      expect(await verdict).to.equal(expected);
    });
  }

  it("should read Svix's names of the three headers, too", async () => {
    const headers = { "svix-id": id, "svix-timestamp": `${nowSeconds}`, "svix-signature": v1() };
    const verdict = await custom.verify({ headers, body }, [{ signing_secret: secret }], now);
    expect(verdict.ok).to.equal(true);
    expect(custom.heading(JSON.parse(body.toString()), headers)?.nativeId).to.equal(id);
  });

  const secrets: readonly [title: string, text: string, isOne: boolean][] = [
    ["one of 24 bytes", `whsec_${Buffer.alloc(24, 1).toString("base64")}`, true],
    ["one of 64 bytes", `whsec_${Buffer.alloc(64, 1).toString("base64")}`, true],
    ["one of 23 bytes", `whsec_${Buffer.alloc(23, 1).toString("base64")}`, false],
    ["one of 65 bytes", `whsec_${Buffer.alloc(65, 1).toString("base64")}`, false],
    ["one that is no base64", "whsec_this is a passphrase of many letters", false],
  ];
  for (const [title, text, isOne] of secrets) {
    it(`should ${isOne ? "take" : "refuse"} as a secret ${title}`, () => {
      expect(custom.credentials.safeParse({ signing_secret: text }).success).to.equal(isOne);
    });
  }

  it("should name an event by its own id, else by its message's, else not at all", () => {
    const record = { event_type: "transaction.sale", amount: 1, currency: "USD" };
    const { headers } = custom.sign(body, { signing_secret: secret }, now);
    const named = custom.heading({ ...record, event_id: "order-1" }, headers);
    expect(named?.nativeId).to.equal("order-1");
    expect(custom.heading(record, headers)?.nativeId).to.equal(headers["webhook-id"]);
    expect(custom.heading(record)).to.equal(null);
    // It is taken under a digest, and rejected when it is read.
    const tooLong = { ...headers, "webhook-id": "m".repeat(501) };
    expect(bounded(custom).heading(record, tooLong)?.nativeId).to.match(/^malformed:/);
  });
});
