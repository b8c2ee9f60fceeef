/** The token of a push, made here apart from `sign`: by RFC 7515 and Google's description. */
import { createHmac, createSign } from "node:crypto";
import { expect } from "chai";
import { createGoogle } from "../../../providers/google/index.js";
import { askAgainAfterMs } from "../../../providers/google/keys.js";
import { pushBody, pushBytes, pushOf, testNotification } from "../../payloads/google.js";
import { KeysUnavailable, type Verdict } from "../../../providers/provider.js";
import { credentialsOf, makeSigner, packageName } from "../../apis/google-signer.js";
import { serveHttp } from "../../harness/loopback.js";

const nowSeconds = 1_772_704_805;
const now = nowSeconds * 1000;
const ours = makeSigner("key-1");
const next = makeSigner("key-2");
const foreign = makeSigner("key-1");
const notification = testNotification;
const body = pushBytes(pushBody({ messageId: "1", packageName, at: now, notification }));
const hour = 3600;

const claims = {
  aud: ours.audience,
  azp: "113774264463038321964",
  email: ours.email,
  email_verified: true,
  exp: nowSeconds + hour,
  iat: nowSeconds,
  iss: "https://accounts.google.com",
  sub: "113774264463038321964",
};
const head = { alg: "RS256", kid: "key-1", typ: "JWT" };

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function jwt(more: object = {}, header: object = head, signer = ours): string {
  const text = `${base64url(header)}.${base64url({ ...claims, ...more })}`;
  const signature = createSign("RSA-SHA256").update(text).sign(signer.privateKey, "base64url");
  return `${text}.${signature}`;
}

/** The classic forgery: the public key as the secret of an HMAC. */
function hmacJwt(): string {
  const text = `${base64url({ ...head, alg: "HS256" })}.${base64url(claims)}`;
  const digest = createHmac("sha256", JSON.stringify(ours.jwk)).update(text).digest("base64url");
  return `${text}.${digest}`;
}

function bearer(more: object = {}, header: object = head, signer = ours): string {
  return `Bearer ${jwt(more, header, signer)}`;
}

function answerOf(verdict: Verdict): string {
  return verdict.ok ? "ok" : verdict.reason;
}

describe("Google's push token", () => {
  const google = createGoogle();
  const credentials = google.credentials.parse(credentialsOf(ours));
  const verdictOf = async (
    authorization: string | undefined,
    given = [credentials],
    bytes = body,
  ) => answerOf(await google.verify({ headers: { authorization }, body: bytes }, given, now));

  const good = jwt();
  const [jose = "", payload = "", signature = ""] = good.split(".");
  const cases: readonly [title: string, header: string | undefined, verdict: string][] = [
    ["no header", undefined, "signature_missing"],
    ["an empty header", "", "signature_missing"],
    ["another scheme", "Basic b25lOnR3bw==", "signature_malformed"],
    ["what is no token", "Bearer hello", "signature_malformed"],
    ["a token without a signature", `Bearer ${jose}.${payload}.`, "signature_malformed"],
    ["a token of four parts", `Bearer ${good}.AA`, "signature_malformed"],
    ["the algorithm none", bearer({}, { ...head, alg: "none" }), "signature_malformed"],
    ["an HMAC with the public key", `Bearer ${hmacJwt()}`, "signature_malformed"],
    ["another RSA algorithm", bearer({}, { ...head, alg: "RS512" }), "signature_malformed"],
    ["no key id", bearer({}, { alg: "RS256" }), "signature_malformed"],
    ["a critical extension", bearer({}, { ...head, crit: ["b64"] }), "signature_malformed"],
    ["no expiry", bearer({ exp: undefined }), "signature_malformed"],
    ["more than any token has", bearer({ hd: "x".repeat(4096) }), "signature_malformed"],
    ["another issuer", bearer({ iss: "https://example.com" }), "signature_mismatch"],
    ["another audience", bearer({ aud: "https://other.example" }), "signature_mismatch"],
    ["another service account", bearer({ email: "a@b.example" }), "signature_mismatch"],
    ["an address not verified", bearer({ email_verified: false }), "signature_mismatch"],
    ["no address", bearer({ email: undefined }), "signature_mismatch"],
    ["an unknown key", bearer({}, { ...head, kid: "key-9" }), "signature_mismatch"],
    ["another's key of that id", bearer({}, head, foreign), "signature_mismatch"],
    [
      "claims that were not signed",
      `Bearer ${jose}.${base64url({ ...claims, sub: "1" })}.${signature}`,
      "signature_mismatch",
    ],
    ["a signature cut short", `Bearer ${good.slice(0, -8)}`, "signature_mismatch"],
    ["the right one", `Bearer ${good}`, "ok"],
    ["the scheme in small letters", `bearer ${good}`, "ok"],
    ["the issuer without https", bearer({ iss: "accounts.google.com" }), "ok"],
    ["300 seconds after its end", bearer({ exp: nowSeconds - 300 }), "ok"],
    ["301 seconds after its end", bearer({ exp: nowSeconds - 301 }), "signature_stale"],
    ["a clock 300 seconds ahead", bearer({ iat: nowSeconds + 300 }), "ok"],
    ["a clock 301 seconds ahead", bearer({ iat: nowSeconds + 301 }), "signature_stale"],
  ];
  for (const [title, header, verdict] of cases) {
    it(`should answer ${verdict} to ${title}`, async () => {
      expect(await verdictOf(header)).to.equal(verdict);
    });
  }

  it("should take any of several credentials, and refuse all without one", async () => {
    const other = google.credentials.parse(credentialsOf(next));
    expect(await verdictOf(`Bearer ${good}`, [other, credentials])).to.equal("ok");
    expect(await verdictOf(`Bearer ${good}`, [])).to.equal("signature_mismatch");
  });

  it("should refuse a message about another app: anyone on the topic could write it", async () => {
    const other = { messageId: "2", packageName: "com.example.other", at: now, notification };
    const bytes = pushBytes(pushBody(other));
    expect(await verdictOf(`Bearer ${good}`, [credentials], bytes)).to.equal("signature_mismatch");
  });

  it("should take what can never be read, or it would come again for days", async () => {
    for (const data of ["", "bm8ganNvbg==", "e30="]) {
      const push = pushOf("3", now, data);
      expect(await verdictOf(`Bearer ${good}`, [credentials], pushBytes(push))).to.equal("ok");
      expect(google.heading(push)).to.deep.equal({
        nativeId: "3",
        nativeType: "UNREADABLE",
        sandbox: null,
        accountHint: null,
      });
      expect(google.decode(push)).to.include({ outcome: "rejected", reason: "malformed" });
    }
  });
});

describe("Google's published keys", () => {
  let url = "";
  let asked = 0;
  let answer: { status: number; keys: unknown; headers: Record<string, string> };

  before(async () => {
    const base = await serveHttp("published keys", (_request, response) => {
      asked += 1;
      response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.keys));
    });
    url = `${base}/certs`;
  });

  beforeEach(() => {
    asked = 0;
    const headers = { "cache-control": "public, max-age=600, must-revalidate", age: "100" };
    answer = { status: 200, keys: { keys: [ours.jwk, { kty: "EC", kid: "x" }] }, headers };
  });

  /** One process: `verify` at several times, of several tokens. */
  function openVerify(): (token: string, at?: number) => Promise<string> {
    const google = createGoogle({ keysUrl: url });
    const { jwks, ...rest } = credentialsOf(ours);
    expect(jwks.keys).to.have.lengthOf(1);
    const credentials = google.credentials.parse(rest);
    return async (token, at = now) =>
      answerOf(
        await google.verify(
          { headers: { authorization: `Bearer ${token}` }, body },
          [credentials],
          at,
        ),
      );
  }

  it("should be fetched once for many pushes at a time", async () => {
    const verify = openVerify();
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => verify(jwt())));
    expect(new Set(verdicts)).to.deep.equal(new Set(["ok"]));
    expect(asked).to.equal(1);
  });

  it("should be kept as long as Google says, less the age of the answer", async () => {
    const verify = openVerify();
    await verify(jwt());
    expect(await verify(jwt(), now + 499_000)).to.equal("ok");
    expect(asked).to.equal(1);
    expect(await verify(jwt(), now + 500_000)).to.equal("ok");
    expect(asked).to.equal(2);
  });

  it("should be fetched again for an unknown key id, but not for each", async () => {
    const verify = openVerify();
    await verify(jwt());
    const rotated = jwt({}, { ...head, kid: "key-2" }, next);
    expect(await verify(rotated, now + askAgainAfterMs - 1)).to.equal("signature_mismatch");
    expect(asked).to.equal(1);
    answer.keys = { keys: [ours.jwk, next.jwk] };
    expect(await verify(rotated, now + askAgainAfterMs)).to.equal("ok");
    for (let forged = 0; forged < 50; forged += 1) {
      const token = jwt({}, { ...head, kid: `forged-${forged}` });
      expect(await verify(token, now + askAgainAfterMs)).to.equal("signature_mismatch");
    }
    expect(asked).to.equal(2);
  });

  it("should be fetched again where the clock was set back, after a failure, too", async () => {
    const verify = openVerify();
    const [rotated, earlier] = [jwt({}, { ...head, kid: "key-2" }, next), now - 120_000];
    await verify(jwt());
    answer.keys = { keys: [ours.jwk, next.jwk] };
    expect(await verify(rotated, earlier)).to.equal("ok");
    const another = openVerify();
    answer.status = 500;
    await another(jwt()).catch(() => undefined);
    answer.status = 200;
    expect(await another(rotated, earlier)).to.equal("ok");
  });

  it("should be asked for nothing by a token that was not meant for us", async () => {
    expect(await openVerify()(jwt({ aud: "https://other.example" }))).to.equal(
      "signature_mismatch",
    );
    expect(asked).to.equal(0);
  });

  const failures: readonly [title: string, change: () => void][] = [
    ["an error", () => (answer.status = 500)],
    ["what is no set of keys", () => (answer.keys = { error: "none" })],
    ["more than keys ever are", () => (answer.keys = { keys: ["x".repeat(65_536)] })],
  ];
  for (const [title, change] of failures) {
    it(`should say nothing about a push while the answer is ${title}, and recover`, async () => {
      const verify = openVerify();
      change();
      const thrown = await verify(jwt()).catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(KeysUnavailable);
      const again = await verify(jwt(), now + 1_999).catch((error: unknown) => error);
      expect(again).to.be.instanceOf(KeysUnavailable);
      expect(asked).to.equal(1);
      answer = { ...answer, status: 200, keys: { keys: [ours.jwk] } };
      expect(await verify(jwt(), now + 2_000)).to.equal("ok");
    });
  }
});
