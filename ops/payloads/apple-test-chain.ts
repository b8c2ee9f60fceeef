/**
 * A chain of certificates in the shape of Apple's that nobody trusts, for tests and the demo: made
 * anew where it is needed, so that no key lies about. The options make chains that must be refused.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { intermediateMark, leafMark } from "../../providers/apple/chain.js";
import { element, oidElement, tag } from "./der.js";
import type { Signer } from "../../providers/apple/jws.js";

export interface TestChainOptions {
  /** ms since 1970, before 2050 */
  readonly leafValidFrom?: number;
  readonly leafValidTo?: number;
  /** Extensions besides the usual ones; Apple's own by default. */
  readonly leafMarks?: readonly Buffer[];
  readonly intermediateMarks?: readonly Buffer[];
  readonly intermediateMayIssue?: boolean;
  /** What the App Store signs with is of P-256; its signatures are as long as the other's. */
  readonly leafCurve?: "P-256" | "secp256k1";
}

/** Root and intermediate are of P-384 and the leaf of P-256, as Apple's are. */
export function makeTestChain(options: TestChainOptions = {}): Signer {
  const root = authority("Test Root CA", "P-384");
  const rootCertificate = certificateOf(root, root, {
    validFrom,
    validTo,
    mayIssue: true,
    marks: [],
  });
  const intermediate = authority("Test Developer Relations", "P-384");
  const { leafValidFrom = validFrom, leafValidTo = validTo, intermediateMayIssue = true } = options;
  const above = [
    certificateOf(intermediate, root, {
      validFrom,
      validTo,
      mayIssue: intermediateMayIssue,
      marks: options.intermediateMarks ?? [intermediateMark],
    }),
    rootCertificate,
  ];
  const leaf = authority("Test Receipt Signing", options.leafCurve ?? "P-256");
  const certificate = certificateOf(leaf, intermediate, {
    validFrom: leafValidFrom,
    validTo: leafValidTo,
    mayIssue: false,
    marks: options.leafMarks ?? [leafMark],
  });
  return { key: leaf.key, x5c: [certificate, ...above].map((der) => der.toString("base64")) };
}

const validFrom = Date.UTC(2020, 0, 1);
const validTo = Date.UTC(2049, 0, 1);

interface Authority {
  readonly name: string;
  readonly key: KeyObject;
  /** SubjectPublicKeyInfo, DER */
  readonly publicKey: Buffer;
}

function authority(name: string, namedCurve: "P-256" | "P-384" | "secp256k1"): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { name, key: createPrivateKey(privateKey), publicKey };
}

/** RFC 5280, 4.1 */
function certificateOf(
  subject: Authority,
  issuer: Authority,
  body: { validFrom: number; validTo: number; mayIssue: boolean; marks: readonly Buffer[] },
): Buffer {
  const algorithm = element(tag.sequence, oidElement(ecdsaWithSha384));
  const extensions = [
    ...(body.mayIssue ? [basicConstraints] : []),
    ...body.marks.map((mark) => extension(mark, element(tag.null))),
  ];
  const tbs = element(
    tag.sequence,
    element(tag.context(0), integer(2)), // version 3
    integer(1),
    algorithm,
    nameOf(issuer),
    element(tag.sequence, utcTime(body.validFrom), utcTime(body.validTo)),
    nameOf(subject),
    subject.publicKey,
    element(tag.context(3), element(tag.sequence, ...extensions)),
  );
  const signature = Buffer.concat([Buffer.of(0), sign("sha384", tbs, issuer.key)]);
  return element(tag.sequence, tbs, algorithm, element(tag.bitString, signature));
}

const ecdsaWithSha384 = "1.2.840.10045.4.3.3";
const commonName = "2.5.4.3";
const basicConstraints = extension(
  oidElement("2.5.29.19"),
  element(tag.sequence, element(tag.boolean, Buffer.of(0xff))),
);

function extension(oid: Buffer, value: Buffer): Buffer {
  return element(tag.sequence, oid, element(tag.octetString, value));
}

function nameOf({ name }: Authority): Buffer {
  const text = element(tag.utf8String, Buffer.from(name));
  return element(
    tag.sequence,
    element(tag.set, element(tag.sequence, oidElement(commonName), text)),
  );
}

function integer(value: number): Buffer {
  return element(tag.integer, Buffer.of(value));
}

/** YYMMDDhhmmssZ */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, "");
  return element(tag.utcTime, Buffer.from(`${digits.slice(2, 14)}Z`));
}
