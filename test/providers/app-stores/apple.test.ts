import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { hasExtension } from "../../../providers/apple/certificate.js";
import { oidElement } from "../../../ops/payloads/der.js";
import { createApple } from "../../../providers/apple/index.js";
import {
  appleNotification,
  type AppInput,
  notificationBody,
  renewalInfo,
  type TransactionInput,
  transactionInfo,
} from "../../../ops/payloads/apple.js";
import { makeTestChain } from "../../../ops/payloads/apple-test-chain.js";
import { bodiesOf, statesOf } from "../../harness/decoded.js";

const apple = createApple();
const signer = makeTestChain();
const day = 24 * 60 * 60 * 1000;
const at = Date.UTC(2026, 4, 4, 12);
const app: AppInput = { bundleId: "com.example.atlas", appAppleId: 1, environment: "Production" };
const bought: TransactionInput = {
  id: "20000001",
  originalId: "20000001",
  product: "atlas.pro",
  purchasedAt: at,
  expiresAt: at + 31 * day,
  signedAt: at,
  price: 9990n,
  currency: "USD",
};

/** As the endpoint gets it, parsed. */
function made(type: string, subtype?: string, more: Partial<TransactionInput> = {}, status = 1) {
  const notification = appleNotification(app, {
    id: "n-1",
    type,
    ...(subtype === undefined ? {} : { subtype }),
    status,
    signedAt: at + 2 * day,
    transaction: transactionInfo(app, { ...bought, ...more }),
    renewal: renewalInfo(app, {
      originalId: bought.originalId,
      product: "atlas.pro",
      signedAt: at,
    }),
  });
  const body: unknown = JSON.parse(
    apple.sign(notificationBody(notification), signer, at).body.toString(),
  );
  return body;
}

function reported(body: unknown): string {
  const decoded = apple.decode(body);
  const facts = bodiesOf(decoded);
  return facts.length === 0 ? decoded.outcome : facts.flatMap(Object.keys).join(" ");
}

describe("App Store notifications", () => {
  const cases: readonly [type: string, more: Partial<TransactionInput>, status: number, string][] =
    [
      ["EXPIRED", { kind: "Non-Consumable", expiresAt: null }, 1, "ignored"],
      ["REFUND", { revokedAt: at + day, offer: "FREE_TRIAL" }, 1, "ignored"],
      ["REFUND", { revokedAt: at + day, kind: "Consumable", expiresAt: null }, 5, "RefundTotal"],
      ["REFUND_REVERSED", { isUpgraded: true }, 1, "RefundTotal"],
    ];
  for (const [type, more, status, facts] of cases) {
    it(`should report ${type} ${Object.keys(more).join(" ")}: ${facts}`, () => {
      expect(reported(made(type, undefined, more, status))).to.equal(facts);
    });
  }

  it("should end what comes more than two days late when it comes: Apple had retried", () => {
    const late: readonly [subtype: string, expiresAt: number, endsAt: number][] = [
      ["VOLUNTARY", at, at],
      ["VOLUNTARY", at - 1, at + 2 * day],
      ["PRICE_INCREASE", at - 30 * day, at + 2 * day],
      ["BILLING_RETRY", at + day, at + 2 * day],
    ];
    for (const [subtype, expiresAt, endsAt] of late) {
      const ends = statesOf(apple.decode(made("EXPIRED", subtype, { expiresAt })));
      expect(
        ends.flatMap(({ steps }) => steps),
        subtype,
      ).to.deep.equal([{ at: endsAt, items: [] }]);
    }
  });
});

describe("Apple's heading", () => {
  it("should name the notification, its environment and the subscription", () => {
    expect(apple.heading(made("DID_RENEW"), {})).to.deep.equal({
      nativeId: "n-1",
      nativeType: "DID_RENEW",
      sandbox: false,
      accountHint: "20000001",
    });
  });

  it("should believe nothing that Xcode signed, not even from a key's holder", () => {
    const local = appleNotification(app, { id: "n-1", type: "DID_RENEW", signedAt: at });
    const data = { ...Object(local["data"]), environment: "Xcode" };
    const body = apple.sign(notificationBody({ ...local, data }), signer, at).body.toString();
    expect(apple.decode(JSON.parse(body))).to.include({ reason: "environment_untrusted" });
    expect(apple.heading(JSON.parse(body), {})).to.include({ sandbox: true });
  });
});

describe("Apple's credentials", () => {
  const bundle_id = "com.example.atlas";
  const [leaf = "", , root = ""] = signer.x5c;
  const pemOf = (namedCurve: string): string => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve });
    return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  };
  const [issuer_id, private_key] = ["57246542-96fe-1a63-e053-0824d011072a", pemOf("P-256")];
  const keyed = { issuer_id, key_id: "2X9R4HXF34", private_key };
  const cases: readonly [title: string, given: unknown, expected: unknown][] = [
    ["the bundle id alone", { bundle_id }, { bundle_id }],
    ["blanks around it", { bundle_id: ` ${bundle_id} ` }, { bundle_id }],
    ["a number as text", { bundle_id, app_apple_id: "12" }, { bundle_id, app_apple_id: 12 }],
    [
      "a root broken into lines",
      { bundle_id, root_certificates: [`${root.slice(0, 64)}\n${root.slice(64)}`] },
      { bundle_id, root_certificates: [root] },
    ],
    ["an API key", { bundle_id, ...keyed }, { bundle_id, ...keyed }],
    [
      "an API key whose line breaks are lost",
      { bundle_id, ...keyed, private_key: private_key.replaceAll("\n", " ") },
      { bundle_id, ...keyed },
    ],
    ["an API key without its id", { bundle_id, issuer_id, private_key }, null],
    ["an API key over another curve", { bundle_id, ...keyed, private_key: pemOf("P-384") }, null],
    ["an API key that is none", { bundle_id, ...keyed, private_key: "MIGTAgEAMBM" }, null],
    ["no bundle id", { app_apple_id: 12 }, null],
    ["a number that is none", { bundle_id, app_apple_id: "12a" }, null],
    ["no root at all", { bundle_id, root_certificates: [] }, null],
    ["a root that may not issue", { bundle_id, root_certificates: [leaf] }, null],
    ["a root that is no certificate", { bundle_id, root_certificates: ["AAAA"] }, null],
  ];
  for (const [title, given, expected] of cases) {
    it(`should ${expected === null ? "refuse" : "take"} ${title}`, () => {
      expect(apple.credentials.safeParse(given).data ?? null).to.deep.equal(expected);
    });
  }
});

describe("Extensions of a certificate", () => {
  const certificate = Buffer.from(signer.x5c[0] ?? "", "base64");
  const dotted = "1.2.840.113635.100.6.11.1";
  const mark = oidElement(dotted);

  it("should be found by their whole name", () => {
    expect(hasExtension(certificate, mark)).to.equal(true);
    expect(hasExtension(certificate, oidElement("1.2.840.113635.100.6.11"))).to.equal(false);
    expect(hasExtension(certificate, oidElement(`${dotted}.1`))).to.equal(false);
  });

  it("should not be found in what is cut short, and nothing should throw", () => {
    for (let length = 0; length < certificate.length; length += 1) {
      expect(hasExtension(certificate.subarray(0, length), mark), `${length}`).to.equal(false);
    }
  });

  it("should be read within bounds whatever byte is wrong", () => {
    for (let place = 0; place < certificate.length; place += 1) {
      const wrong = Buffer.from(certificate);
      wrong[place] = 0xff;
      expect(hasExtension(wrong, mark), `${place}`).to.be.a("boolean");
    }
    expect(hasExtension(Buffer.alloc(20_000, 0x30), mark)).to.equal(false);
  });
});
