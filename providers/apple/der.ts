/**
 * As much of DER (ITU-T X.690) as Apple's certificates ask for: which extensions a certificate
 * has, which `X509Certificate` of node does not report, and the elements to write one for tests.
 */

/** Tags of X.680 that are used here. */
export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  /** `[n]` EXPLICIT */
  context: (n: number) => 0xa0 + n,
} as const;

/** More extensions than any real certificate has. */
const extensionsMax = 64;
const certificateBytesMax = 16_384;
/** Version, serial, algorithm, issuer, validity, subject, key, two obsolete ids, extensions. */
const tbsFieldsMax = 10;

/**
 * @param oid as `oidElement` writes it
 * @returns false too for what is no certificate; never throws
 */
export function hasExtension(certificate: Buffer, oid: Buffer): boolean {
  return extensionsOf(certificate).some((extension) => {
    return readElement(extension, 0)?.whole.equals(oid) === true;
  });
}

/**
 * ES256 is over P-256 and nothing else. `asymmetricKeyDetails` of node reports the curve, too, in
 * six times the time.
 * @returns false too for what is no certificate of version 3; never throws
 */
export function hasKeyOverP256(certificate: Buffer): boolean {
  const publicKey = fieldsOf(certificate)[6];
  const [algorithm] = publicKey?.tag === tag.sequence ? elementsOf(publicKey.content, 2) : [];
  return algorithm?.whole.equals(ecOverP256) === true;
}

/** What an issuer signed of a certificate, how, and the signature (RFC 5280, 4.1). */
export interface SignedParts {
  /** tbsCertificate, with tag and length */
  readonly signed: Buffer;
  /** What is inside AlgorithmIdentifier: an OID, and parameters where it has some. */
  readonly algorithm: Buffer;
  readonly signature: Buffer;
}

/**
 * @returns null for what is not written as DER asks, or names one algorithm inside and another
 *   outside
 */
export function signedPartsOf(certificate: Buffer): SignedParts | null {
  if (certificate.length > certificateBytesMax) return null;
  const [outer] = elementsOf(certificate, 1);
  const parts = outer?.tag === tag.sequence ? elementsOf(outer.content, 3) : [];
  const [tbs, algorithm, signature] = parts;
  if (tbs?.tag !== tag.sequence || !algorithm || signature?.tag !== tag.bitString) return null;
  const inside = elementsOf(tbs.content, tbsFieldsMax)[2];
  const isSame = inside?.tag === tag.sequence && inside.content.equals(algorithm.content);
  // The bit string's first byte says how many bits at its end do not count.
  if (algorithm.tag !== tag.sequence || !isSame || signature.content[0] !== 0) return null;
  return {
    signed: tbs.whole,
    algorithm: algorithm.content,
    signature: signature.content.subarray(1),
  };
}

/** Certificate → tbsCertificate → `[3]` → SEQUENCE OF Extension (RFC 5280, 4.1). */
function extensionsOf(certificate: Buffer): Buffer[] {
  const explicit = fieldsOf(certificate).find((field) => field.tag === tag.context(3));
  const [list] = explicit === undefined ? [] : elementsOf(explicit.content, 1);
  if (list?.tag !== tag.sequence) return [];
  return elementsOf(list.content, extensionsMax).map(({ content }) => content);
}

/** Of tbsCertificate. */
function fieldsOf(certificate: Buffer): Element[] {
  if (certificate.length > certificateBytesMax) return [];
  const [outer] = elementsOf(certificate, 1);
  const [tbs] = outer?.tag === tag.sequence ? elementsOf(outer.content, 3) : [];
  return tbs?.tag === tag.sequence ? elementsOf(tbs.content, tbsFieldsMax) : [];
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

/** One element with its parts inside. */
export function element(elementTag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  if (length >= 0x80 && length < 0x100) lengthBytes.splice(0, 2, 0x81);
  return Buffer.concat([Buffer.from([elementTag, ...lengthBytes]), content]);
}

export function oidElement(dotted: string): Buffer {
  return element(tag.oid, encodeOid(dotted));
}

/** The first two numbers share a byte, the others are written in groups of seven bits. */
function encodeOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  return Buffer.from([first * 40 + second, ...rest.flatMap(base128)]);
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
  return groups;
}

/** AlgorithmIdentifier of such a key (RFC 5480): id-ecPublicKey, and which curve. */
const ecOverP256 = element(
  tag.sequence,
  oidElement("1.2.840.10045.2.1"),
  oidElement("1.2.840.10045.3.1.7"),
);
