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

const nowText = `${nowSeconds}`;

async function verdictOf(
  headers: Readonly<Record<string, string | undefined>>,
  secrets = [secret],
  signed = body,
  at = now,
): Promise<string> {
  const given = secrets.map((signing_secret) => ({ signing_secret }));
  const verdict = await custom.verify({ headers, body: signed }, given, at);
  return verdict.ok ? verdict.verdict : verdict.reason;
}

describe("A custom webhook's signature", () => {
  const vectors: [what: string, text: string, verdict: string][] = [
    ["as it is", published.body, "signature"],
    ["with its body altered", `${published.body} `, "signature_mismatch"],
  ];
  for (const [what, text, expected] of vectors) {
    it(`should answer ${expected} to the published vector ${what}`, async () => {
      const { headers, verifyAt } = published;
      const verdict = verdictOf(headers, [published.secret], Buffer.from(text), verifyAt);
      expect(await verdict).to.equal(expected);
    });
  }

  const late = nowSeconds - 301;
  const early = nowSeconds + 301;
  const foreign = v1(nowSeconds, Buffer.from("x"));
  const asPasted = key.toString("base64");
  type Headers = { id?: string | undefined; time?: string | undefined };
  const cases: readonly [
    title: string,
    signature: string | undefined,
    verdict: string,
    headers?: Headers,
    secrets?: string[],
  ][] = [
    ["the right signature", v1(), "signature"],
    ["a secret without its prefix", v1(), "signature", {}, [asPasted]],
    ["the right one after a foreign one", `v1,${"A".repeat(43)}= ${v1()}`, "signature"],
    ["a second version beside it", `v1a,c2lnbmF0dXJl ${v1()}`, "signature"],
    ["the old secret of a rotation", v1(), "signature", {}, [otherSecret, secret]],
    ["only a foreign one", foreign, "signature_mismatch"],
    ["another message's id", v1(), "signature_mismatch", { id: "msg_9" }],
    ["a later body's timestamp", v1(), "signature_mismatch", { time: `${nowSeconds + 1}` }],
    ["no signature", undefined, "signature_missing"],
    ["an empty signature", "", "signature_missing"],
    ["no id", v1(), "signature_missing", { id: undefined }],
    ["no timestamp", v1(), "signature_missing", { time: undefined }],
    ["a timestamp that is none", v1(), "signature_malformed", { time: "1e9" }],
    ["an entry without a comma", v1().replace(",", ""), "signature_malformed"],
    ["an empty value", "v1,", "signature_malformed"],
    ["base64 without padding", v1().replace("=", ""), "signature_malformed"],
    ["only a version not known here", "v1a,c2lnbmF0dXJl", "signature_malformed"],
    ["one too old", v1(late), "signature_stale", { time: `${late}` }],
    ["one from the future", v1(early), "signature_stale", { time: `${early}` }],
  ];
  for (const [title, signature, expected, headers = {}, secrets = [secret]] of cases) {
    it(`should answer ${expected} to ${title}`, async () => {
      const given = { id, time: nowText, ...headers };
      const sent = {
        "webhook-id": given.id,
        "webhook-timestamp": given.time,
        "webhook-signature": signature,
      };
      expect(await verdictOf(sent, secrets)).to.equal(expected);
    });
  }

  it("should read Svix's names of the three headers, too", async () => {
    const headers = { "svix-id": id, "svix-timestamp": nowText, "svix-signature": v1() };
    expect(await verdictOf(headers)).to.equal("signature");
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
