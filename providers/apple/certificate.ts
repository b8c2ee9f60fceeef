/**
 * What `X509Certificate` of node does not say of a certificate: which extensions it has, and who
 * signed it, found out in libuv's threads (P-384 takes a millisecond, in which the endpoint would
 * answer nobody). For that, as much of DER (ITU-T X.690) as certificates consist of.
 */
import { type KeyObject, verify, X509Certificate } from "node:crypto";
import { promisify } from "node:util";

const verifyAside = promisify(verify);

/** AlgorithmIdentifiers of RFC 5758 (1.2.840.10045.4.3.2 to .4); Apple's are of SHA-384. */
const digests: ReadonlyMap<string, string> = new Map([
  ["06082a8648ce3d040302", "sha256"],
  ["06082a8648ce3d040303", "sha384"],
  ["06082a8648ce3d040304", "sha512"],
]);

/**
 * Begun at once, before anything else is known of the certificate; false too for what is none.
 * @param der of the certificate
 * @param key of the issuer; with a signature of any other kind it is checked on this thread
 */
export async function isIssuedBy(der: Buffer, key: KeyObject): Promise<boolean> {
  try {
    const parts = signedPartsOf(der);
    const digest = parts && digests.get(parts.algorithm.toString("hex"));
    if (!parts || !digest || key.asymmetricKeyType !== "ec") {
      return new X509Certificate(der).verify(key);
    }
    return await verifyAside(digest, parts.signed, key, parts.signature);
  } catch {
    return false;
  }
}

/**
 * @param oid with tag and length
 * @returns false too for what is no certificate; never throws
 */
export function hasExtension(certificate: Buffer, oid: Buffer): boolean {
  // Certificate → tbsCertificate → `[3]` → SEQUENCE OF Extension (RFC 5280, 4.1).
  const [tbs] = partsOf(certificate);
  const explicit = fieldsOf(tbs).find((field) => field.tag === extensionsTag);
  const [list] = explicit === undefined ? [] : elementsOf(explicit.content, 1);
  const extensions = list?.tag === sequenceTag ? elementsOf(list.content, extensionsMax) : [];
  return extensions.some(({ content }) => readElement(content, 0)?.whole.equals(oid) === true);
}

/**
 * What an issuer signed of a certificate, how, and the signature (RFC 5280, 4.1).
 * @returns null for what is not written as DER asks, or names one algorithm inside and another
 *   outside
 */
function signedPartsOf(certificate: Buffer) {
  const [tbs, algorithm, signature] = partsOf(certificate);
  if (tbs?.tag !== sequenceTag || !algorithm || signature?.tag !== bitStringTag) return null;
  const inside = fieldsOf(tbs)[2];
  const isSame = inside?.tag === sequenceTag && inside.content.equals(algorithm.content);
  // The bit string's first byte says how many bits at its end do not count.
  if (algorithm.tag !== sequenceTag || !isSame || signature.content[0] !== 0) return null;
  return {
    /** tbsCertificate, with tag and length */
    signed: tbs.whole,
    /** What is inside AlgorithmIdentifier: an OID, and parameters where it has some. */
    algorithm: algorithm.content,
    signature: signature.content.subarray(1),
  };
}

const bitStringTag = 0x03;
const sequenceTag = 0x30;
/** `[3]` EXPLICIT */
const extensionsTag = 0xa3;
/** More extensions than any real certificate has. */
const extensionsMax = 64;
const certificateBytesMax = 16_384;
/** Version, serial, algorithm, issuer, validity, subject, key, two obsolete ids, extensions. */
const tbsFieldsMax = 10;

/** tbsCertificate, algorithm and signature; none of what is no certificate. */
function partsOf(certificate: Buffer): Element[] {
  if (certificate.length > certificateBytesMax) return [];
  const [outer] = elementsOf(certificate, 1);
  return outer?.tag === sequenceTag ? elementsOf(outer.content, 3) : [];
}

function fieldsOf(tbs: Element | undefined): Element[] {
  return tbs?.tag === sequenceTag ? elementsOf(tbs.content, tbsFieldsMax) : [];
}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** With tag and length. */
  readonly whole: Buffer;
  /** Where the next one begins. */
  readonly end: number;
}

/** All of them, one after the other; none when one is malformed or there are more than `max`. */
function elementsOf(bytes: Buffer, max: number): Element[] {
  const elements: Element[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const read = readElement(bytes, offset);
    if (read === null || elements.length === max) return [];
    elements.push(read);
    offset = read.end;
  }
  return elements;
}

/** Single-byte tags and definite lengths of at most two bytes: what certificates consist of. */
function readElement(bytes: Buffer, offset: number): Element | null {
  const [first, length] = [bytes[offset], bytes[offset + 1]];
  if (first === undefined || length === undefined || (first & 0x1f) === 0x1f) return null;
  const lengthBytes = length < 0x80 ? 0 : length - 0x80;
  if (length === 0x80 || lengthBytes > 2) return null;
  const start = offset + 2 + lengthBytes;
  if (start > bytes.length) return null;
  const contentLength = lengthBytes === 0 ? length : bytes.readUIntBE(offset + 2, lengthBytes);
  const end = start + contentLength;
  if (end > bytes.length) return null;
  const [content, whole] = [bytes.subarray(start, end), bytes.subarray(offset, end)];
  return { tag: first, content, whole, end };
}
