/**
 * JSON Web Signatures as Apple writes them (RFC 7515, compact): ES256, with the chain of
 * certificates of the signing key in the header. `signJws` stands beside for tests and the demo.
 */
import { type KeyObject, verify } from "node:crypto";
import { z } from "zod";
import { jsonValue } from "../../schemas/parse.js";
import { compiled } from "../fields.js";
import { signCompact } from "../signatures.js";

export interface Jws {
  /** The header as it stands in the text: what makes two chains the same. */
  readonly headerText: string;
  readonly payloadText: string;
  /** Header and payload, as they were signed. */
  readonly signed: string;
  readonly signatureText: string;
}

/** Three certificates have about 4,500 characters in a header. */
const headerLengthMax = 24_000;
/** R and S are 64 bytes: 85 characters and a third of the last, the rest of which must be 0. */
const signaturePattern = /^[A-Za-z0-9_-]{85}[AQgw]$/;

/**
 * Header and payload may be any text here: all of it is signed, and read only after.
 * @returns null when the text is no compact JWS with a signature of the right size
 */
export function readJws(text: string): Jws | null {
  const first = text.indexOf(".");
  const second = text.indexOf(".", first + 1);
  const signatureText = text.slice(second + 1);
  if (first < 0 || second < 0 || !signaturePattern.test(signatureText)) return null;
  if (first > headerLengthMax) return null;
  return {
    headerText: text.slice(0, first),
    payloadText: text.slice(first + 1, second),
    signed: text.slice(0, second),
    signatureText,
  };
}

/** The chain in a header, as DER: leaf, intermediate, root; null when it is not Apple's kind. */
export function chainOf(
  headerText: string,
): readonly [leaf: Buffer, intermediate: Buffer, root: Buffer] | null {
  const header = headerShape.safeParse(jsonIn(headerText));
  if (!header.success) return null;
  const [leaf, intermediate, root] = header.data.x5c;
  return [bytesOf(leaf), bytesOf(intermediate), bytesOf(root)];
}

const certificateText = z.base64().min(1);
const headerShape = compiled(
  z.object({
    // Nothing else, whatever the header says: `none` and keyed digests are how such checks fail.
    alg: z.literal("ES256"),
    x5c: z.tuple([certificateText, certificateText, certificateText]),
    // Names extensions that must be understood; none is.
    crit: z.undefined().optional(),
  }),
);

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, "base64");
}

/** The payload, whoever signed it; undefined when it is no JSON. */
export function payloadOf(jws: Jws): unknown {
  return jsonIn(jws.payloadText);
}

function jsonIn(base64url: string): unknown {
  return jsonValue(Buffer.from(base64url, "base64url"));
}

export function isSignedBy({ signed, signatureText }: Jws, key: KeyObject): boolean {
  const how = { key, dsaEncoding: "ieee-p1363" } as const;
  const signature = Buffer.from(signatureText, "base64url");
  return verify("sha256", Buffer.from(signed, "latin1"), how, signature);
}

/** A key and its certificates, base64 DER: leaf, intermediate, root. */
export interface Signer {
  readonly key: KeyObject;
  readonly x5c: readonly string[];
}

export function signJws(payload: unknown, { key, x5c }: Signer): string {
  return signCompact({ alg: "ES256", x5c }, payload, key);
}

/**
 * The bytes Apple posts. What is a JWS already stays as it is.
 * @param body a notification as JSON
 */
export function signNotification(body: Buffer, signer: Signer): Buffer {
  const parsed: unknown = JSON.parse(body.toString("utf8"), (key, value: unknown) =>
    /^signed[A-Za-z]+Info$/.test(key) && typeof value === "object" ? signJws(value, signer) : value,
  );
  return Buffer.from(JSON.stringify({ signedPayload: signJws(parsed, signer) }));
}
