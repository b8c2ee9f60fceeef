import { createHook } from "node:async_hooks";
import { createHash, createHmac, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import {
  chainsMax,
  intermediateMark,
  leafMark,
  VerifiedChains,
} from "../../../providers/apple/chain.js";
import { createApple } from "../../../providers/apple/index.js";
import { readJws, type Signer, signJws } from "../../../providers/apple/jws.js";
import {
  appleNotification,
  type AppInput,
  type JsonObject,
  notificationBody,
  renewalInfo,
  transactionInfo,
} from "../../../ops/payloads/apple.js";
import { appleRootG3 } from "../../../providers/apple/roots.js";
import { makeTestChain } from "../../../ops/payloads/apple-test-chain.js";
import { must } from "../../model/readers/json.js";
import type { Delivery } from "../../../providers/provider.js";
import { projectFile } from "../../../runtime/project-root.js";

const apple = createApple();
const day = 24 * 60 * 60 * 1000;
const at = Date.UTC(2026, 4, 4, 12);
const ours = makeTestChain();
const foreign = makeTestChain();
const app: AppInput = {
  bundleId: "com.example.atlas",
  appAppleId: 6448311069,
  environment: "Production",
};

function credentialsOf(more: object = {}, signer: Signer = ours) {
  return apple.credentials.parse({
    bundle_id: app.bundleId,
    app_apple_id: app.appAppleId,
    root_certificates: [signer.x5c[2]],
    ...more,
  });
}

const transaction = {
  id: "2000000901",
  originalId: "2000000901",
  product: "atlas.pro.monthly",
  purchasedAt: at,
  expiresAt: at + 30 * day,
  signedAt: at,
  price: 9990n,
  currency: "USD",
};

interface Made {
  readonly app?: AppInput;
  /** The app the nested JWS are about. */
  readonly inner?: AppInput;
  readonly signer?: Signer;
  readonly innerSigner?: Signer;
  /** When it was signed. */
  readonly at?: number;
  readonly innerAt?: number;
}

/** A delivery of a renewal, every part of it as reported. */
function made(given: Made = {}): Delivery {
  const { signer = ours, innerSigner = signer, at: signedAt = at, innerAt = signedAt } = given;
  const outerApp = given.app ?? app;
  const inner = given.inner ?? outerApp;
  const { id, originalId, product } = transaction;
  const notification = appleNotification(outerApp, { id: "n-1", type: "DID_RENEW", signedAt });
  const data = {
    ...Object(notification["data"]),
    signedTransactionInfo: signJws(
      transactionInfo(inner, { ...transaction, id, signedAt: innerAt }),
      innerSigner,
    ),
    signedRenewalInfo: signJws(
      renewalInfo(inner, { originalId, product, signedAt: innerAt }),
      innerSigner,
    ),
  };
  return delivered(signJws({ ...notification, data }, signer));
}

function delivered(signedPayload: unknown): Delivery {
  return { headers: {}, body: Buffer.from(JSON.stringify({ signedPayload })) };
}

async function verdictOf(delivery: Delivery, credentials = [credentialsOf()]): Promise<string> {
  const verdict = await apple.verify(delivery, credentials, at);
  return verdict.ok ? "ok" : verdict.reason;
}

const plain = appleNotification(app, { id: "n-1", type: "TEST", signedAt: at });
const [leaf = "", intermediate = "", root = ""] = ours.x5c;
const [leafOfOthers = "", intermediateOfOthers = "", rootOfOthers = ""] = foreign.x5c;
const sandbox: AppInput = { ...app, environment: "Sandbox" };
const otherApp: AppInput = { ...app, bundleId: "com.example.other" };
const expired = makeTestChain({ leafValidTo: at - day });
const future = makeTestChain({ leafValidFrom: at + day });
const unmarkedLeaf = makeTestChain({ leafMarks: [intermediateMark] });
const unmarkedIntermediate = makeTestChain({ intermediateMarks: [leafMark] });
const otherCurve = makeTestChain({ leafCurve: "secp256k1" });
const noAuthority = makeTestChain({ intermediateMayIssue: false });

const signature = Buffer.alloc(64, 1).toString("base64url");

/** Our notification under a header with these fields, and any signature. */
function headed(header: JsonObject, sign = (_signed: string) => signature): Delivery {
  const signed = [{ alg: "ES256", x5c: [...ours.x5c], ...header }, plain]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return delivered(`${signed}.${sign(signed)}`);
}

/** Signs with our leaf's key, but shows these certificates. */
function shown(...x5c: string[]): Delivery {
  return delivered(signJws(plain, { key: ours.key, x5c }));
}

/** A certificate, the last byte of its key or of its signature changed. */
function changed(x5c: string, what: "key" | "signature"): string {
  const der = Buffer.from(x5c, "base64");
  const key = new X509Certificate(der).publicKey.export({ type: "spki", format: "der" });
  const last = (what === "key" ? der.indexOf(key) + key.length : der.length) - 1;
  der.writeUInt8(der.readUInt8(last) ^ 1, last);
  return der.toString("base64");
}

/** Its certificates, under the root that is trusted. */
function shows({ key, x5c }: Signer): Signer {
  return { key, x5c: [...x5c.slice(0, 2), root] };
}

function trusting(signer: Signer) {
  return [credentialsOf({}, signer)];
}

describe("Apple's signature", () => {
  it("should accept what Apple's layout asks for, and verify it again from memory", async () => {
    expect(await verdictOf(made())).to.equal("ok");
    expect(await verdictOf(made())).to.equal("ok");
    expect(await verdictOf(delivered(signJws(plain, ours)))).to.equal("ok");
  });

  const malformed: readonly [title: string, delivery: Delivery][] = [
    ["a body that is no JSON", { headers: {}, body: Buffer.from("signedPayload") }],
    ["a payload that is no text", delivered(7)],
    ["a payload that is no JWS", delivered("e30.e30")],
    ["a JWS of four parts", delivered(`${signJws(plain, ours)}.e30`)],
    ["a signature cut short", delivered(signJws(plain, ours).slice(0, -1))],
    ["an unsigned JWS", headed({ alg: "none" }, () => "")],
  ];
  for (const [title, delivery] of malformed) {
    it(`should answer signature_malformed to ${title}`, async () => {
      expect(await verdictOf(delivery)).to.equal("signature_malformed");
    });
  }

  it("should answer signature_missing to a body without a signed payload", async () => {
    const body = notificationBody(plain);
    expect(await verdictOf({ headers: {}, body })).to.equal("signature_missing");
  });

  const hmac = (signed: string) => {
    const digest = createHmac("sha512", Buffer.from(leaf, "base64")).update(signed);
    return digest.digest("base64url");
  };
  const refused: readonly [title: string, delivery: Delivery][] = [
    ["alg none over a right chain", headed({ alg: "none" })],
    ["a keyed digest with the certificate as its key", headed({ alg: "HS512" }, hmac)],
    ["another elliptic algorithm", headed({ alg: "ES384" })],
    ["an extension that must be understood", headed({ crit: ["b64"] })],
    ["a signature of nothing", headed({})],
    ["no chain", headed({ x5c: [] })],
    ["two certificates", shown(leaf, intermediate)],
    ["four certificates", shown(leaf, intermediate, root, root)],
    ["certificates in the wrong order", shown(root, intermediate, leaf)],
    ["leaf and intermediate swapped", shown(intermediate, leaf, root)],
    ["a chain under another root", made({ signer: foreign })],
    ["another chain that shows our root", shown(leafOfOthers, intermediateOfOthers, root)],
    ["our chain that shows another root", shown(leaf, intermediate, rootOfOthers)],
    ["an intermediate of another chain", shown(leaf, intermediateOfOthers, root)],
    [
      "a leaf that another key signed with",
      delivered(signJws(plain, { ...foreign, x5c: ours.x5c })),
    ],
    ["certificates that are none", shown("AAAA", "AAAA", root)],
    ["a leaf whose key is no point of the curve", shown(changed(leaf, "key"), intermediate, root)],
    ["an intermediate whose key is none", shown(leaf, changed(intermediate, "key"), root)],
    ["a nested JWS signed by another chain", made({ innerSigner: foreign })],
    ["a nested JWS for another app", made({ inner: otherApp })],
    ["a nested JWS of the sandbox in production", made({ inner: sandbox })],
    ["another app", made({ app: otherApp })],
    ["another app of the same bundle id", made({ app: { ...app, appAppleId: 1 } })],
    ["what Xcode signs", delivered(signJws(xcode("Xcode"), ours))],
    ["what a local test signs", delivered(signJws(xcode("LocalTesting"), ours))],
    ["a notification without a date", delivered(signJws({ ...plain, signedDate: null }, ours))],
    [
      "a genuine JWS that is no notification",
      delivered(signJws({ signedDate: at, bundleId: app.bundleId }, ours)),
    ],
  ];
  for (const [title, delivery] of refused) {
    it(`should answer signature_mismatch to ${title}`, async () => {
      expect(await verdictOf(delivery)).to.equal("signature_mismatch");
    });
  }

  const chains: readonly [title: string, signer: Signer, given: Made, verdict: string][] = [
    ["a leaf that had expired when it signed", expired, {}, "signature_mismatch"],
    ["one that expired since", expired, { at: at - 2 * day }, "ok"],
    [
      "one that signed only the inner part in time",
      expired,
      { innerAt: at - 2 * day },
      "signature_mismatch",
    ],
    ["a leaf that was not valid yet", future, {}, "signature_mismatch"],
    ["the same a week later", future, { at: at + 7 * day }, "ok"],
    ["a leaf without Apple's mark", unmarkedLeaf, {}, "signature_mismatch"],
    ["an intermediate without Apple's mark", unmarkedIntermediate, {}, "signature_mismatch"],
    ["an intermediate that may not issue", noAuthority, {}, "signature_mismatch"],
    ["a leaf whose key is over another curve", otherCurve, {}, "signature_mismatch"],
  ];
  for (const [title, signer, given, verdict] of chains) {
    it(`should answer ${verdict} to ${title}`, async () => {
      expect(await verdictOf(made({ signer, ...given }), trusting(signer))).to.equal(verdict);
    });
  }

  const begun: readonly [title: string, delivery: () => Delivery, signatures: number][] = [
    ["a chain under another root", () => made({ signer: foreign }), 0],
    ["a leaf without Apple's mark", () => made({ signer: shows(unmarkedLeaf) }), 0],
    ["certificates that are none", () => shown("AAAA", "AAAA", root), 0],
    [
      "an intermediate without Apple's mark",
      () => made({ signer: shows(unmarkedIntermediate) }),
      1,
    ],
    ["two certificates that anybody made", () => made({ signer: shows(foreign) }), 5],
  ];
  for (const [title, delivery, signatures] of begun) {
    it(`should begin ${signatures} checks of signatures for ${title}`, async () => {
      const forged = delivery();
      let count = 0;
      const hook = createHook({
        init: (_id, type) => {
          if (type === "SIGNREQUEST") count += 1;
        },
      }).enable();
      expect(await verdictOf(forged)).to.equal("signature_mismatch");
      hook.disable();
      expect(count).to.equal(signatures);
    });
  }

  it("should report the heading of the body it is given, whichever was verified last", async () => {
    const [one, other] = ["n-1", "n-2"].map((notificationUUID) => ({
      signedPayload: signJws({ ...plain, notificationUUID }, ours),
    }));
    expect(await verdictOf({ headers: {}, body: Buffer.from(JSON.stringify(one)) })).to.equal("ok");
    expect(apple.heading(other)).to.include({ nativeId: "n-2" });
    expect(apple.heading(one)).to.include({ nativeId: "n-1" });
  });

  it("should take a sandbox notification without the app's number", async () => {
    const delivery = made({ app: sandbox });
    expect(await verdictOf(delivery)).to.equal("ok");
    const body: unknown = JSON.parse(delivery.body.toString());
    expect(apple.heading(body, {})).to.include({ sandbox: true, nativeType: "DID_RENEW" });
  });

  it("should take a kind to come, which names no app, when it is signed", async () => {
    const { data: _app, ...rest } = plain;
    const kind = { ...rest, notificationType: "TO_COME", newData: { app: "other" } };
    expect(await verdictOf(delivered(signJws(kind, ours)))).to.equal("ok");
    expect(await verdictOf(delivered(signJws(kind, foreign)))).to.equal("signature_mismatch");
    const body = { signedPayload: signJws(kind, ours) };
    expect(apple.heading(body)).to.include({ nativeType: "TO_COME", sandbox: null });
    const telling = { signedPayload: signJws({ ...kind, notificationType: "REFUND" }, ours) };
    expect(apple.decode(telling)).to.include({ outcome: "rejected", reason: "malformed" });
  });

  it("should check the number only where it was given", async () => {
    const unnumbered = [credentialsOf({ app_apple_id: undefined })];
    expect(await verdictOf(made({ app: { ...app, appAppleId: 1 } }), unnumbered)).to.equal("ok");
  });

  it("should take what one of several credentials wants, never parts of two", async () => {
    const other = credentialsOf({ bundle_id: otherApp.bundleId }, foreign);
    const both = [other, credentialsOf()];
    expect(await verdictOf(made(), both)).to.equal("ok");
    expect(await verdictOf(made({ app: otherApp, signer: foreign }), both)).to.equal("ok");
    expect(await verdictOf(made({ signer: foreign }), both)).to.equal("signature_mismatch");
    expect(await verdictOf(made({ innerSigner: foreign }), both)).to.equal("signature_mismatch");
    expect(await verdictOf(made(), [])).to.equal("signature_mismatch");
  });

  const reported: readonly [detail: string, delivery: Delivery][] = [
    ["signedPayload: it is no JWS with a signature of ES256", delivered("e30.e30")],
    [
      "signedPayload: its header is not ES256 with a chain of three certificates",
      headed({ alg: "ES384" }),
    ],
    ["signedPayload: the root of its chain is not trusted", made({ signer: foreign })],
    ["signedPayload: its leaf certificate lacks Apple's mark", shown(intermediate, leaf, root)],
    [
      "signedPayload: a certificate is not signed by the one above it",
      shown(leaf, changed(intermediate, "signature"), root),
    ],
    ["signedPayload: its signature is not its key's", headed({})],
    ["signedTransactionInfo: the root of its chain is not trusted", made({ innerSigner: foreign })],
    ["signedTransactionInfo: bundleId is another app's", made({ inner: otherApp })],
    ["signedTransactionInfo: environment is not the notification's", made({ inner: sandbox })],
    ["bundleId is not the integration's bundle_id", made({ app: otherApp })],
    ["appAppleId is not the integration's app_apple_id", made({ app: { ...app, appAppleId: 1 } })],
    [
      "environment: neither Production nor Sandbox, as Xcode signs",
      delivered(signJws(xcode("Xcode"), ours)),
    ],
  ];
  for (const [detail, delivery] of reported) {
    it(`should report for the log: ${detail}`, async () => {
      const verdict = await apple.verify(delivery, [credentialsOf()], at);
      expect(verdict).to.include({ ok: false, detail });
    });
  }

  it("should report for the log when a certificate was not valid at signing", async () => {
    const verdict = await apple.verify(made({ signer: expired }), trusting(expired), at);
    const detail = "signedPayload: a certificate of its chain was not valid when it was signed";
    expect(verdict).to.include({ ok: false, detail });
  });

  it("should trust Apple alone unless other roots are given", async () => {
    const plainCredentials = [apple.credentials.parse({ bundle_id: app.bundleId })];
    expect(await verdictOf(made(), plainCredentials)).to.equal("signature_mismatch");
  });
});

function xcode(environment: string): JsonObject {
  return { ...plain, data: { ...Object(plain["data"]), environment } };
}

/**
 * Published by Apple: apple/app-store-server-library-node
 * @ bc5cf765f375dec9dccf1a099493bb45ad571016, tests/unit-tests/jws_verification.test.ts: the chain
 * the App Store signed with at this time, in October 2025: leaf and intermediate.
 */
const publishedAt = 1_761_962_975_000;
const [appleLeaf = "", appleIntermediate = ""] = readFileSync(
  projectFile("test", "providers", "app-stores", "apple-published-chain.pem"),
  "utf8",
)
  .split(/-----[A-Z ]+-----/)
  .map((text) => text.replaceAll("\n", ""))
  .filter((text) => text !== "");

/** Null: it does not hold. */
async function chainIn(claim: ReturnType<VerifiedChains["find"]>) {
  const chain = typeof claim === "string" ? claim : await claim.chain;
  return typeof chain === "string" ? null : chain;
}

describe("Apple's root", () => {
  const trusted = new Set([appleRootG3]);
  const jws = (x5c: string[]) => must(readJws(signJws({}, { key: ours.key, x5c })), "a JWS");

  it("should be the one whose fingerprint Apple publishes", () => {
    const digest = createHash("sha256").update(Buffer.from(appleRootG3, "base64")).digest("hex");
    expect(digest).to.equal("63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179");
  });

  const found = async (chains: VerifiedChains, x5c: string[], roots = trusted) =>
    chainIn(chains.find(jws(x5c), roots));

  it("should hold the chain Apple published", async () => {
    const chain = await found(new VerifiedChains(), [appleLeaf, appleIntermediate, appleRootG3]);
    const certificate = new X509Certificate(Buffer.from(appleLeaf, "base64"));
    expect(chain?.key.equals(certificate.publicKey)).to.equal(true);
    expect(publishedAt).to.be.within(chain?.validFrom ?? Infinity, chain?.validTo ?? 0);
    expect(chain?.validFrom).to.equal(Date.UTC(2025, 8, 19, 19, 44, 51));
    expect(chain?.validTo).to.equal(Date.UTC(2027, 9, 13, 17, 47, 23));
  });

  it("should hold no other", async () => {
    const chains = new VerifiedChains();
    expect(await found(chains, [appleIntermediate, appleLeaf, appleRootG3])).to.equal(null);
    expect(await found(chains, [leaf, appleIntermediate, appleRootG3])).to.equal(null);
    expect(await found(chains, [...ours.x5c])).to.equal(null);
  });

  const forged = (x5c: string) => changed(x5c, "signature");

  it("should hold no chain with a wrong signature, also under what it knows", async () => {
    const chains = new VerifiedChains();
    const roots = new Set([root]);
    expect(await found(chains, [leaf, forged(intermediate), root], roots)).to.equal(null);
    expect(await found(chains, [forged(leaf), intermediate, root], roots)).to.equal(null);
    expect(chains.size).to.equal(0);
    expect(await found(chains, [leaf, intermediate, root], roots)).not.to.equal(null);
    expect(await found(chains, [forged(leaf), intermediate, root], roots)).to.equal(null);
    expect(await found(chains, [leaf, forged(intermediate), root], roots)).to.equal(null);
    expect(chains.size).to.equal(1);
  });

  it("should verify a chain once that several parts show at once", async () => {
    const chains = new VerifiedChains();
    const [one = "", other] = [1, 2].map(() => chains.find(jws([...ours.x5c]), new Set([root])));
    expect(one).to.equal(other);
    expect(await chainIn(one)).not.to.equal(null);
  });

  it("should be remembered with few chains, whatever headers come", async () => {
    const chains = new VerifiedChains();
    for (let kid = 0; kid <= chainsMax; kid += 1) {
      const { signedPayload } = JSON.parse(headed({ kid: String(kid) }).body.toString());
      const claim = chains.find(must(readJws(signedPayload), "a JWS"), new Set([root]));
      expect(await chainIn(claim)).to.have.property("root", root);
    }
    expect(chains.size).to.equal(chainsMax);
  });

  it("should be asked for again when a chain is kept, since others may not trust it", async () => {
    const chains = new VerifiedChains();
    expect(await found(chains, [...ours.x5c], new Set([root]))).not.to.equal(null);
    expect(await found(chains, [...ours.x5c], new Set([root]))).not.to.equal(null);
    expect(await found(chains, [...ours.x5c])).to.equal(null);
  });
});
